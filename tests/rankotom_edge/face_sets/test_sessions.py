"""Faces of a recorded session: split by time, and cut where the live app read them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.face_sets.face_split import FaceSplit, SplitSizes
from rankotom_edge.face_sets.sessions import (
    Sighting,
    faces_of_session,
    sample_sightings,
    split_by_time,
)
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.model.card import CropContract
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.session import read_session

FEW = SplitSizes(minimum=3)
Record = Callable[..., Path]


def faces_in(folder: Path, sizes: SplitSizes | None = None) -> FaceSplit:
    contract = CropContract(48, 1, FERPLUS_FRAMING)
    return faces_of_session(read_session(folder), contract, sizes or SplitSizes())


def test_a_session_is_split_by_time_and_cut_where_it_was_read(recordings: Path) -> None:
    session = read_session(recordings)
    faces = faces_in(recordings)
    assert faces.name == session.folder.name
    assert min(len(faces.calibration), len(faces.held_out)) >= 50
    times = {
        crop(read.frame.image, reading.face, FERPLUS_FRAMING, 48, 1).tobytes(): read.frame.time
        for read in session.frames()
        for reading in read.readings
    }
    early, late = (
        [times[face.tobytes()] for face in part] for part in (faces.calibration, faces.held_out)
    )
    assert min(late) - max(early) >= 5
    for part in (early, late):
        assert min(np.diff(part)) >= 0.5
    assert faces.note == (
        "frames of one video are alike, so these faces tell less than as many photos would"
    )


def test_a_long_session_is_used_evenly(recordings: Path) -> None:
    faces = faces_in(recordings, SplitSizes(3, max_calibration=10, max_held_out=20))
    assert (len(faces.calibration), len(faces.held_out)) == (10, 20)
    assert "30 of 1" in faces.note


def test_a_face_that_was_lost_is_no_face(
    tmp_path: Path, frames: list[FrameReadings], record: Record
) -> None:
    folder = record(tmp_path, frames[40:60])
    lines = (folder / "readings.jsonl").read_text()
    assert len(sample_sightings(read_session(folder))) == 10
    score = frames[40].readings[0].as_json()["score"]
    assert f'"score":{score}' in lines
    (folder / "readings.jsonl").write_text(lines.replace(f'"score":{score}', '"score":0', 1))
    assert [face.frame for face in sample_sightings(read_session(folder))][:2] == [1, 3]


def test_a_session_without_video_or_without_faces_says_what_to_do(
    tmp_path: Path, frames: list[FrameReadings], record: Record
) -> None:
    silent = record(tmp_path / "silent", frames[:8], video=False)
    with pytest.raises(RankotomError, match=r"has no video.*--record-video"):
        faces_in(silent)
    empty = record(tmp_path / "empty", [])
    with pytest.raises(RankotomError, match="Found 0 faces in the session"):
        faces_in(empty)


def test_a_session_that_camera_recorded_is_read(tmp_path: Path) -> None:
    arguments = ["camera", "--source", "demo", "--view", "none", "--frames", "40"]
    recorded = [*arguments, "--record", str(tmp_path), "--record-video"]
    subprocess.run([sys.executable, "-m", "rankotom_edge", *recorded], check=True, timeout=300)
    (folder,) = tmp_path.iterdir()
    assert 2 <= len(sample_sightings(read_session(folder))) <= 3
    with pytest.raises(
        RankotomError, match=r"Found [23] faces in the session .*50 of each are needed\. Record for"
    ):
        faces_in(tmp_path)


def test_the_demos_portrait_does_not_pass_for_many_people(
    tmp_path: Path, frames: list[FrameReadings], record: Record
) -> None:
    folder = record(tmp_path, frames[:80], still=True)
    assert "portrait of the demo" in faces_in(folder, FEW).note


def test_a_torn_video_gives_what_it_holds(
    tmp_path: Path, frames: list[FrameReadings], record: Record
) -> None:
    folder = record(tmp_path, frames[:80])
    whole = faces_in(folder, FEW)
    with (folder / "video.mjpeg").open("r+b") as file:
        file.truncate((folder / "video.mjpeg").stat().st_size * 9 // 10)
    torn = faces_in(folder, FEW)
    assert (torn.calibration == whole.calibration).all()
    lost = len(whole.held_out) - len(torn.held_out)
    assert 0 < lost < len(whole.held_out)
    assert f"the video ends before {lost} face" in torn.note
    assert (torn.held_out == whole.held_out[: len(torn.held_out)]).all()


def test_the_split_is_by_faces_not_by_the_clock() -> None:
    """Somebody is there for a minute, and an hour later for another."""
    seen = [Sighting(index, 0, time) for index, time in enumerate([*range(60), *range(3600, 3660)])]
    before, after = split_by_time(seen)
    assert (before, after) == (seen[:60], seen[63:])
    assert split_by_time([]) == ([], [])
