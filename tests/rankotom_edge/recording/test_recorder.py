"""Recordings that survive a kill and a full disk."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.recorder import Recorder
from rankotom_edge.recording.session import read_session

Record = Callable[..., Path]


def test_a_session_is_readable_by_its_owner_alone(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    folder = record(tmp_path, frames, video=True)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_each_recording_gets_a_folder_of_its_own_named_by_its_start(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    names = [record(tmp_path, frames[:count]).name for count in (1, 2, 3)]
    first = "session-2026-11-16T10-42-07"
    assert names == [first, f"{first}-2", f"{first}-3"]
    assert len(list(read_session(tmp_path / first).lines())) == 1


def test_a_recording_that_goes_on_can_be_read_and_is_not_called_complete(
    tmp_path: Path, metadata: dict[str, object], frames: list[FrameReadings]
) -> None:
    with Recorder(tmp_path, metadata) as recorder:
        assert list(read_session(tmp_path).frames()) == []
        recorder.write(frames[0])
        session = read_session(tmp_path)
        assert not session.complete
        assert session.size == (512, 512)
        assert len(list(session.frames())) == 1
    assert read_session(tmp_path).complete


WRITER = """
    import sys
    from pathlib import Path
    from rankotom_edge.recording.recorder import Recorder
    from rankotom_edge.recording.session import read_session

    original = read_session(Path(sys.argv[1]))
    frames = list(original.frames())
    recorder = Recorder(Path(sys.argv[2]), original.metadata, video=True)
    for count in range(1, 10_000):
        recorder.write(frames[count % len(frames)])
        print(count, flush=True)
"""


def test_after_a_kill_every_frame_that_was_written_can_be_read(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    original = record(tmp_path / "original", frames, video=True)
    arguments = [sys.executable, "-c", dedent(WRITER), original, tmp_path / "killed"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 40:
                break
        writer.send_signal(signal.SIGKILL)
        written = max([int(number) for number in writer.stdout.read().split()], default=40)
    assert writer.returncode == -signal.SIGKILL
    session = read_session(tmp_path / "killed")
    assert not session.complete
    shown = list(session.frames())
    assert len(shown) in (written, written + 1)
    last = frames[len(shown) % len(frames)]
    assert np.abs(shown[-1].frame.image.astype(int) - last.frame.image).mean() < 5


def test_an_interrupt_while_a_session_is_closed_waits_until_it_is_complete(
    tmp_path: Path,
    metadata: dict[str, object],
    frames: list[FrameReadings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = Recorder(tmp_path, metadata)
    recorder.write(frames[0])
    replace = os.replace

    def interrupted(*names: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        replace(*names)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorder.close()
    assert read_session(tmp_path).complete


def write_for_ever(recorder: Recorder, frames: list[FrameReadings]) -> None:
    for each in itertools.cycle(frames):
        recorder.write(each)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system of 400 KB cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("video", [True, False])
def test_a_full_disk_is_a_clear_error_and_what_was_written_stays(
    small_disk: Path, metadata: dict[str, object], frames: list[FrameReadings], video: bool
) -> None:
    handles = len(os.listdir("/proc/self/fd"))
    recorder = Recorder(small_disk, metadata, video)
    with pytest.raises(RankotomError, match=r"the disk is full\. The [\d,]+ frames before"):
        write_for_ever(recorder, frames)
    recorder.close()
    assert len(os.listdir("/proc/self/fd")) == handles
    session = read_session(small_disk)
    assert not session.complete
    assert len(list(session.frames())) == recorder.frames > 1
    left = {"metadata.json", "readings.jsonl"} | ({"video.mjpeg"} if video else set())
    assert {path.name for path in session.folder.iterdir()} == left


def test_a_disk_that_is_full_from_the_start_is_left_as_it_was(
    small_disk: Path, metadata: dict[str, object]
) -> None:
    filler = small_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(RankotomError, match=r"the disk is full\. Nothing was recorded"):
        Recorder(small_disk, metadata)
    assert list(small_disk.iterdir()) == [filler]


def test_a_folder_that_cannot_be_written_is_an_error_at_once(
    tmp_path: Path, metadata: dict[str, object]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RankotomError, match=r"Cannot record into .*file: File exists"):
        Recorder(tmp_path / "file", metadata)
    with pytest.raises(RankotomError, match=r"Cannot record into .*: Not a directory"):
        Recorder(tmp_path / "file" / "inside", metadata)
