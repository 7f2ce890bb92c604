"""Real sessions on a real disk; the time is given."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.recorder import Recorder
from rankotom_edge.recording.retention import DAY, GIGABYTE, Retention, is_being_written
from rankotom_edge.recording.session import METADATA, VIDEO, read_session

NOW = datetime(2026, 11, 19, 12, 0, 0, tzinfo=timezone.utc).astimezone()


@pytest.fixture
def session(
    tmp_path: Path, metadata: dict[str, object], frames: list[FrameReadings]
) -> Callable[..., Path]:
    def make(days_ago: float, video: bool = False) -> Path:
        started = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
        with Recorder(tmp_path, metadata | {"started": started}, video) as recorder:
            recorder.write(frames[0])
        return recorder.folder

    return make


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_sessions_older_than_so_many_days_go(tmp_path: Path, session: Callable[..., Path]) -> None:
    old, older, new = session(8), session(30), session(6)
    assert Retention(tmp_path, days=7).apply(NOW.timestamp()) == [older, old]
    assert list(tmp_path.iterdir()) == [new]
    assert read_session(new).complete


def test_the_oldest_go_until_the_rest_is_small_enough(
    tmp_path: Path, session: Callable[..., Path]
) -> None:
    kept = [session(days, video=True) for days in (4, 3, 2, 1)]
    gigabytes = (size(kept[2]) + size(kept[3]) + 10) / GIGABYTE
    assert Retention(tmp_path, gigabytes=gigabytes).apply(NOW.timestamp()) == kept[:2]
    assert sorted(tmp_path.iterdir()) == sorted(kept[2:])
    assert all(read_session(folder).complete for folder in kept[2:])


def test_without_limits_everything_stays(tmp_path: Path, session: Callable[..., Path]) -> None:
    folder = session(10_000)
    assert Retention(tmp_path).apply(NOW.timestamp()) == []
    assert Retention(tmp_path / "absent", days=1).apply(NOW.timestamp()) == []
    assert folder.is_dir()
    assert not Retention(tmp_path).is_full(folder, NOW.timestamp())


WRITER = """
import sys
from pathlib import Path
from rankotom_edge.recording.recorder import Recorder
recorder = Recorder(Path(sys.argv[1]), {"started": sys.argv[2]})
print(recorder.folder, flush=True)
sys.stdin.read()
"""


def test_a_session_that_is_being_written_stays_whoever_writes_it_until_that_one_is_gone(
    tmp_path: Path, metadata: dict[str, object], frames: list[FrameReadings]
) -> None:
    started = (NOW - timedelta(days=50)).isoformat(timespec="seconds")
    retention = Retention(tmp_path, days=1, gigabytes=1e-9)
    ours = Recorder(tmp_path, metadata | {"started": started})
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path, started],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert writer.stdout is not None
        theirs = Path(writer.stdout.readline().strip())
        assert theirs != ours.folder
        ours.write(frames[0])
        assert retention.apply(NOW.timestamp()) == []
        assert is_being_written(ours.folder)
        assert is_being_written(theirs)
    finally:
        writer.kill()
        writer.communicate()
    ours.close()
    assert sorted(retention.apply(NOW.timestamp())) == sorted([ours.folder, theirs])


def test_where_a_file_system_has_no_locks_our_own_session_stays_all_the_same(
    tmp_path: Path, session: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    old, ours = session(50), session(40)
    retention = Retention(tmp_path, days=1, gigabytes=1e-9)
    assert retention.apply(NOW.timestamp(), ours) == [old]
    assert retention.apply(NOW.timestamp()) == [ours]


def test_only_the_files_of_sessions_are_removed(
    tmp_path: Path, session: Callable[..., Path]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    noted, killed = session(50), session(60)
    (killed / f"{METADATA}.new").touch()
    (noted / "notes.txt").write_text("by a person")
    linked = session(50).rename(elsewhere / "session-linked")
    (tmp_path / "session-link").symlink_to(linked)
    (tmp_path / "session-of-mine").mkdir()
    (tmp_path / "holiday.mp4").touch()
    assert Retention(tmp_path, days=1).apply(NOW.timestamp()) == [killed, noted]
    assert not killed.exists()
    assert [path.name for path in noted.iterdir()] == ["notes.txt"]
    assert (linked / METADATA).is_file()
    assert (tmp_path / "session-of-mine").is_dir()
    assert (tmp_path / "holiday.mp4").is_file()


def test_a_session_that_was_renamed_is_as_old_as_its_last_change(
    tmp_path: Path, session: Callable[..., Path]
) -> None:
    renamed = session(0).rename(tmp_path / "session-party")
    retention = Retention(tmp_path, days=1)
    written = (renamed / METADATA).stat().st_mtime
    assert retention.apply(written + 0.5 * DAY) == []
    assert retention.apply(written + 1.5 * DAY) == [renamed]


def test_a_session_with_a_tenth_of_what_is_kept_is_full(
    tmp_path: Path, session: Callable[..., Path]
) -> None:
    folder = session(0.5, video=True)
    now = NOW.timestamp()
    assert not Retention(tmp_path, days=7).is_full(folder, now)
    assert Retention(tmp_path, days=4).is_full(folder, now)
    assert not Retention(tmp_path, gigabytes=11 * size(folder) / GIGABYTE).is_full(folder, now)
    assert Retention(tmp_path, gigabytes=9 * size(folder) / GIGABYTE).is_full(folder, now)
    os.unlink(folder / VIDEO)
    assert not Retention(tmp_path, gigabytes=1).is_full(folder, now)
