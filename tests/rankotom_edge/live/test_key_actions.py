"""The keys at work: with a real recorder and a real picture on a real disk."""

import json
from datetime import datetime
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.cli.view_options import snapshot_to
from rankotom_edge.frame import Frame
from rankotom_edge.live.key_actions import NOTICE_SECONDS, KeyActions
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.recording.session import Recorder, describe_session
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display, Status

STATUS = Status("camera 0", State("playing", ""), 30.0, 9.0, 0, "ferplus-fp32", "fp32")
MOMENT = FrameReadings(
    Frame(np.full((120, 160, 3), 90, np.uint8), 0, 0.0, 0.0), (), Latency(1, 0, 2)
)
SHOWN = Display(MOMENT, STATUS, Controls())
BEFORE_THE_FIRST = Display(None, STATUS, Controls())


@pytest.fixture
def desk(tmp_path: Path) -> KeyActions:
    artifact = load_artifact("ferplus-fp32")

    def record() -> Recorder:
        return Recorder(tmp_path, describe_session("camera 0", artifact, datetime.now()))

    card = artifact.card
    return KeyActions([], record, snapshot_to(tmp_path, card))


@pytest.mark.parametrize("key", ["q", "esc"])
def test_q_and_esc_quit(desk: KeyActions, key: str) -> None:
    assert not desk.quit
    desk.press(key, BEFORE_THE_FIRST, 0.0)
    assert desk.quit


def test_r_records_from_here_to_the_next_r(desk: KeyActions) -> None:
    desk.write(MOMENT)
    desk.press("r", SHOWN, 0.0)
    folder = Path(desk.recording or "")
    desk.write(MOMENT)
    desk.write(MOMENT)
    desk.press("r", SHOWN, 1.0)
    desk.write(MOMENT)
    assert desk.recording is None
    assert len((folder / "readings.jsonl").read_text().splitlines()) == 2
    assert json.loads((folder / "metadata.json").read_text())["complete"] is True
    assert desk.notice(1.5) == f"recorded {folder}"


def test_a_recording_is_closed_with_the_desk(desk: KeyActions) -> None:
    with desk:
        desk.toggle_recording()
        folder = Path(desk.recording or "")
        desk.write(MOMENT)
    assert json.loads((folder / "metadata.json").read_text())["frames"] == 1


def test_s_saves_the_picture_for_its_owner_alone(desk: KeyActions, tmp_path: Path) -> None:
    desk.press("s", BEFORE_THE_FIRST, 0.0)
    assert desk.notice(0.0) == "nothing to save yet"
    assert list(tmp_path.iterdir()) == []
    desk.press("s", SHOWN, 0.0)
    (path,) = tmp_path.iterdir()
    picture = cv2.imread(str(path))
    assert picture is not None
    assert picture.shape[0] >= 120
    assert path.stat().st_mode & 0o777 == 0o600
    assert desk.notice(NOTICE_SECONDS - 0.1) == f"saved {path}"
    assert desk.notice(NOTICE_SECONDS + 0.1) is None


def test_what_cannot_be_saved_is_said_on_screen_and_ends_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    card = load_artifact("ferplus-fp32").card
    desk = KeyActions(snapshot=snapshot_to(taken / "folder", card))
    desk.press("s", SHOWN, 0.0)
    assert "Cannot save" in (desk.notice(1.0) or "")
    assert not desk.quit


def test_a_recording_that_cannot_go_on_ends_the_run() -> None:
    class FullDisk:
        folder = Path("session")

        def write(self, moment: FrameReadings) -> None:
            raise RankotomError("the disk is full")

        def close(self) -> None: ...

    desk = KeyActions(record=FullDisk)
    desk.toggle_recording()
    with pytest.raises(RankotomError, match="the disk is full"):
        desk.write(MOMENT)


def test_a_key_that_can_do_nothing_here_says_why_and_switches_nothing() -> None:
    desk = KeyActions(absent={"c": "not recorded: where the evidence is"})
    desk.press("c", SHOWN, 0.0)
    assert desk.notice(0.0) == "not recorded: where the evidence is"
    assert not desk.controls.evidence
    assert "c" not in desk.controls.keys
    desk.press("v", SHOWN, 1.0)
    assert desk.controls.crop


def test_a_replay_has_nothing_to_record(tmp_path: Path) -> None:
    desk = KeyActions()
    desk.press("r", SHOWN, 0.0)
    desk.press("s", SHOWN, 0.0)
    assert desk.recording is None
    assert desk.notice(0.0) is None
