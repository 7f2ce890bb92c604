"""The keys at work: with a real recorder and a real picture on a real disk."""

import json
from datetime import datetime
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.live.key_actions import NOTICE_SECONDS, KeyActions
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.recording.recorder import Recorder, describe_session
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.window.snapshot import save_snapshot

STATUS = Status("camera 0", State("playing", ""), 30.0, 9.0, 0, "ferplus-fp32", "fp32")
READINGS = FrameReadings(
    Frame(np.full((120, 160, 3), 90, np.uint8), 0, 0.0, 0.0), (), Latency(1, 0, 2)
)
SHOWN = Display(READINGS, STATUS, Controls())
BEFORE_THE_FIRST = Display(None, STATUS, Controls())


@pytest.fixture
def actions(tmp_path: Path) -> KeyActions:
    artifact = load_artifact("ferplus-fp32")

    def record() -> Recorder:
        return Recorder(tmp_path, describe_session("camera 0", artifact, datetime.now()))

    card = artifact.card
    return KeyActions(record, partial(save_snapshot, tmp_path, card))


@pytest.mark.parametrize("key", ["q", "esc"])
def test_q_and_esc_quit(actions: KeyActions, key: str) -> None:
    assert not actions.quit
    actions.press(key, BEFORE_THE_FIRST, 0.0)
    assert actions.quit


def test_r_records_from_here_to_the_next_r(actions: KeyActions) -> None:
    actions.write(READINGS)
    actions.press("r", SHOWN, 0.0)
    folder = Path(actions.recording or "")
    actions.write(READINGS)
    actions.write(READINGS)
    actions.press("r", SHOWN, 1.0)
    actions.write(READINGS)
    assert actions.recording is None
    assert len((folder / "readings.jsonl").read_text().splitlines()) == 2
    assert json.loads((folder / "metadata.json").read_text())["complete"] is True
    assert actions.notice(1.5) == f"recorded {folder}"


def test_a_recording_is_closed_with_the_actions(actions: KeyActions) -> None:
    with actions:
        actions.toggle_recording()
        folder = Path(actions.recording or "")
        actions.write(READINGS)
    assert json.loads((folder / "metadata.json").read_text())["frames"] == 1


def test_s_saves_the_picture_for_its_owner_alone(actions: KeyActions, tmp_path: Path) -> None:
    actions.press("s", BEFORE_THE_FIRST, 0.0)
    assert actions.notice(0.0) == "nothing to save yet"
    assert list(tmp_path.iterdir()) == []
    actions.press("s", SHOWN, 0.0)
    (path,) = tmp_path.iterdir()
    picture = cv2.imread(str(path))
    assert picture is not None
    assert picture.shape[0] >= 120
    assert path.stat().st_mode & 0o777 == 0o600
    assert actions.notice(NOTICE_SECONDS - 0.1) == f"saved {path}"
    assert actions.notice(NOTICE_SECONDS + 0.1) is None


def test_what_cannot_be_saved_is_said_on_screen_and_ends_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    card = load_artifact("ferplus-fp32").card
    actions = KeyActions(snapshot=partial(save_snapshot, taken / "folder", card))
    actions.press("s", SHOWN, 0.0)
    assert "Cannot save" in (actions.notice(1.0) or "")
    assert not actions.quit


def test_a_recording_that_cannot_go_on_ends_the_run() -> None:
    class FullDisk:
        folder = Path("session")

        def write(self, readings: FrameReadings) -> None:
            raise RankotomError("the disk is full")

        def close(self) -> None: ...

    actions = KeyActions(record=FullDisk)
    actions.toggle_recording()
    with pytest.raises(RankotomError, match="the disk is full"):
        actions.write(READINGS)


def test_a_key_that_can_do_nothing_here_says_why_and_switches_nothing() -> None:
    actions = KeyActions(absent={"c": "not recorded: where the evidence is"})
    actions.press("c", SHOWN, 0.0)
    assert actions.notice(0.0) == "not recorded: where the evidence is"
    assert not actions.controls.evidence
    assert "c" not in actions.controls.keys
    actions.press("v", SHOWN, 1.0)
    assert actions.controls.crop


def test_a_replay_has_nothing_to_record(tmp_path: Path) -> None:
    actions = KeyActions()
    actions.press("r", SHOWN, 0.0)
    actions.press("s", SHOWN, 0.0)
    assert actions.recording is None
    assert actions.notice(0.0) is None
