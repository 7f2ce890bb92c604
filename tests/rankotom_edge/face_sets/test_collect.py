"""A folder of photos or a recorded session: which one it is, or what is wrong with it."""

from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from calib.errors import RankotomError
from rankotom_edge.face_sets.collect import collect_faces
from rankotom_edge.face_sets.face_split import SplitSizes
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.model.card import CropContract
from rankotom_edge.readings.frame_readings import FrameReadings

CONTRACT = CropContract(48, 1, FERPLUS_FRAMING)


def test_a_folder_that_holds_nothing_of_use_says_so(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"nowhere: No such file.*a folder of face photos"):
        collect_faces(tmp_path / "nowhere", CONTRACT)
    with pytest.raises(RankotomError, match=r"is empty\. Give a folder"):
        collect_faces(tmp_path, CONTRACT)
    (tmp_path / "inside").mkdir()
    with pytest.raises(RankotomError, match=r"no photo in .*, nor any other file"):
        collect_faces(tmp_path, CONTRACT)
    (tmp_path / "inside" / "photo.heic").touch()
    with pytest.raises(RankotomError, match=r"no photo in .*, but 1 other file\. .*\.jpg"):
        collect_faces(tmp_path, CONTRACT)
    with pytest.raises(RankotomError, match=r"photo\.heic: Not a directory"):
        collect_faces(tmp_path / "inside" / "photo.heic", CONTRACT)


def test_the_sessions_own_folder_and_its_parent_give_the_same_faces(recordings: Path) -> None:
    (session,) = recordings.iterdir()
    from_parent, itself = (collect_faces(path, CONTRACT) for path in (recordings, session))
    assert from_parent.name == itself.name == session.name
    assert (from_parent.calibration == itself.calibration).all()
    assert (from_parent.held_out == itself.held_out).all()


def test_of_several_sessions_one_must_be_named(
    tmp_path: Path, frames: list[FrameReadings], record: Callable[..., Path]
) -> None:
    for _ in range(2):
        record(tmp_path, frames[:8])
    with pytest.raises(RankotomError, match="holds 2 sessions; name one"):
        collect_faces(tmp_path, CONTRACT)


def test_photos_next_to_a_metadata_json_are_photos(
    tmp_path: Path, frames: list[FrameReadings]
) -> None:
    """Other programs write one too."""
    (tmp_path / "metadata.json").write_text("{}")
    for number in (0, 100):
        assert cv2.imwrite(str(tmp_path / f"{number}.png"), frames[number].frame.image)
    faces = collect_faces(tmp_path, CONTRACT, SplitSizes(minimum=1))
    assert len(faces.calibration) == len(faces.held_out) == 1
    assert faces.name == tmp_path.name
