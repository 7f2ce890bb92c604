"""Interrupts arrive even in the middle of an import."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from rankotom_edge import interrupts
from rankotom_edge.interrupts import END_SIGNALS, check, delay_interrupts, install_end_handlers


@pytest.fixture(autouse=True)
def _restore_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    interrupts._interrupted_at = None


@pytest.mark.parametrize("number", END_SIGNALS)
def test_every_end_signal_is_a_keyboard_interrupt(number: signal.Signals) -> None:
    install_end_handlers()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    install_end_handlers()
    os.kill(os.getpid(), signal.SIGHUP)
    check()


def test_an_interrupt_waits_until_an_import_is_done() -> None:
    install_end_handlers()
    imported = []

    def import_it() -> None:
        with delay_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            imported.append("whole")

    with pytest.raises(KeyboardInterrupt):
        import_it()
    assert imported == ["whole"]
    assert signal.getsignal(signal.SIGINT) is interrupts._interrupt


def test_a_second_signal_at_once_does_not_interrupt_the_closing_and_a_later_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install_end_handlers()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    monkeypatch.setattr(interrupts, "SAME_WISH", 0.0)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_swallowed_interrupt_is_raised_again_in_the_loop() -> None:
    install_end_handlers()
    with suppress(BaseException):  # as an extension module does
        os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        check()
    install_end_handlers()  # of the next command in this process
    check()


def test_an_interrupt_while_onnx_runtime_is_imported_is_an_interrupt() -> None:
    """Its own loader would turn it into an ImportError."""
    program = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime.capi._pybind_state":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["rankotom-edge", "camera", "--source", "demo", "--view", "none", "--frames", "3"]
from rankotom_edge.__main__ import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
