"""A minute passes when the test says so; recorder and disk are real."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from rankotom_edge.frame import Frame
from rankotom_edge.live import upkeep
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.upkeep import EVERY, Upkeep, disk_warning
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.recording.recorder import Recorder
from rankotom_edge.recording.retention import DAY, Retention

READINGS = FrameReadings(
    Frame(np.full((120, 160, 3), 90, np.uint8), 0, 0.0, 0.0), (), Latency(1, 0, 2)
)


@pytest.fixture
def actions(tmp_path: Path) -> KeyActions:
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    return KeyActions(lambda: Recorder(tmp_path, {"started": started}))


def test_a_recording_goes_on_in_a_new_session_and_the_oldest_is_removed(
    tmp_path: Path, actions: KeyActions
) -> None:
    days, told = 10, list[str]()
    clock = [datetime.now().timestamp()]
    keep = Upkeep(actions, Retention(tmp_path, days=days), told.append, lambda: clock[0])
    actions.toggle_recording()
    first = Path(actions.recording or "")
    for turn in range(3):
        actions.write(READINGS)
        keep(turn * EVERY)
    assert actions.recording == str(first)
    clock[0] += 1.1 * DAY  # a tenth of ten days
    keep(10 * EVERY)
    actions.write(READINGS)
    assert actions.recording != str(first)
    assert first.is_dir()
    clock[0] += 9 * DAY
    keep(20 * EVERY)
    assert not first.exists()
    assert Path(actions.recording or "").is_dir()
    assert told == []
    actions.close()


def test_it_looks_once_a_minute(tmp_path: Path, actions: KeyActions) -> None:
    keep = Upkeep(actions, Retention(tmp_path, days=1), print, lambda: 1e11)
    keep(100.0)
    with Recorder(tmp_path, {"started": "2026-01-01T00:00:00+00:00"}) as recorder:
        pass
    keep(100.0 + EVERY - 1)
    assert recorder.folder.exists()
    keep(100.0 + EVERY)
    assert not recorder.folder.exists()


def test_a_folder_that_somebody_removed_is_no_reason_to_stop_reading(
    tmp_path: Path, actions: KeyActions
) -> None:
    keep = Upkeep(actions, Retention(tmp_path / "sessions", days=1, gigabytes=1), print)
    actions.toggle_recording()
    actions.write(READINGS)
    shutil.rmtree(actions.recording or "")
    keep(0.0)
    actions.write(READINGS)


@pytest.mark.parametrize(
    ("free", "rate", "words"),
    [
        (1e12, 0.0, None),
        (1e12, 1e6, None),
        (36e8, 1e6, "the disk is full in about 60 min"),
        (36e8, 2e6, "the disk is full in about 30 min"),
        (1e6, 2e6, "the disk is full in about 1 min"),
        (200e6, 0.0, "the disk is nearly full: 200 MB are left"),
        (200e6, 10.0, "the disk is nearly full: 200 MB are left"),
    ],
)
def test_the_warning_comes_an_hour_before_or_with_little_room(
    free: float, rate: float, words: str | None
) -> None:
    assert disk_warning(free, rate) == words


def test_the_warning_is_told_once_and_shown_until_it_is_over(
    tmp_path: Path, actions: KeyActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = list[str]()
    keep = Upkeep(actions, Retention(tmp_path), told.append)
    monkeypatch.setattr(upkeep, "WARN_BYTES", float("inf"))  # any real disk is nearly full
    keep(0.0)
    assert actions.notice(0.0) is None  # nothing is recorded
    actions.toggle_recording()
    for turn in range(1, 4):
        actions.write(READINGS)
        keep(turn * EVERY)
    shown = actions.notice(1e6)
    assert shown is not None
    assert shown.startswith("the disk is nearly full: ")
    assert len(told) == 1
    assert told[0].endswith(f" MB are left: {tmp_path}")
    monkeypatch.setattr(upkeep, "WARN_BYTES", 0.0)
    keep(5 * EVERY)
    assert actions.notice(1e6) is None
    actions.close()
