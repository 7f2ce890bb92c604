"""Temporary files are gone, however an export ended."""

import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import export.temporary_folder
from export.temporary_folder import temporary_folder
from rankotom_edge.interrupts import END_SIGNALS


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def _as_the_program_does() -> Iterator[None]:
    """Every ending signal is an interrupt."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in END_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def leave_a_folder() -> None:
    (Path(tempfile.mkdtemp()) / "model.onnx").write_bytes(b"half")


def test_what_was_left_inside_goes_with_it(place: Path) -> None:
    with temporary_folder():
        leave_a_folder()
        assert len(list(place.rglob("model.onnx"))) == 1
    assert list(place.iterdir()) == []
    assert tempfile.gettempdir() == str(place)


@pytest.mark.usefixtures("_as_the_program_does")
@pytest.mark.parametrize("sent", END_SIGNALS)
def test_a_signal_during_the_removal_waits_for_its_end(
    place: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    remove, removed = export.temporary_folder.rmtree, []

    def interrupted(folder: str, ignore_errors: bool) -> None:
        signal.raise_signal(sent)
        remove(folder, ignore_errors=ignore_errors)
        removed.append(folder)

    monkeypatch.setattr(export.temporary_folder, "rmtree", interrupted)
    before = signal.getsignal(sent)
    with pytest.raises(KeyboardInterrupt), temporary_folder():
        leave_a_folder()
    assert len(removed) == 1
    assert list(place.iterdir()) == []
    assert signal.getsignal(sent) is before


@pytest.mark.usefixtures("_as_the_program_does")
def test_an_interrupt_in_the_middle_leaves_nothing_either(place: Path) -> None:
    def stopped() -> None:
        leave_a_folder()
        signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), temporary_folder():
        stopped()
    assert list(place.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with temporary_folder():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_it_works_in_another_thread_too(place: Path) -> None:
    def work() -> None:
        with temporary_folder():
            leave_a_folder()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert list(place.iterdir()) == []
