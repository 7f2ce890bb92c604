"""Collect the faces of a folder: photos, or a recorded session."""

from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.face_sets.face_split import FaceSplit, SplitSizes
from rankotom_edge.face_sets.photos import faces_of_photos
from rankotom_edge.face_sets.sessions import faces_of_session
from rankotom_edge.model.card import CropContract
from rankotom_edge.recording.session import PREFIX, READINGS, VIDEO, read_session

WHAT_TO_GIVE = (
    "Give a folder of face photos, or a session: rankotom-edge camera --record DIR --record-video"
)
DEFAULT_SIZES = SplitSizes()


def collect_faces(
    folder: Path, contract: CropContract, sizes: SplitSizes = DEFAULT_SIZES
) -> FaceSplit:
    """``folder`` holds photos, also in sub-folders, or a session that ``read_session`` takes."""
    try:
        content = list(folder.iterdir())
    except OSError as error:
        raise RankotomError(f"Cannot read {folder}: {error.strerror}. {WHAT_TO_GIVE}") from error
    if not content:
        raise RankotomError(f"{folder} is empty. {WHAT_TO_GIVE}")
    if holds_session(folder):
        return faces_of_session(read_session(folder), contract, sizes)
    return faces_of_photos(folder, contract, sizes)


def holds_session(folder: Path) -> bool:
    """A metadata.json is not enough: other programs write one among their photos too."""
    places = (folder, *folder.glob(f"{PREFIX}*"))
    return any((place / name).is_file() for place in places for name in (READINGS, VIDEO))
