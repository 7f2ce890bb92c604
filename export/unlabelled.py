"""Faces that nobody labelled, from photos or a recorded session, as a model takes them.

A quantized model takes its activation ranges and its temperature from one part of them, and is
compared with its parent on the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from calib.errors import RankotomError
from export.predict import faces_hash
from rankotom_edge.closing import Closing
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import POOR_EYES
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.frame import Frame, Image
from rankotom_edge.geometry import Similarity
from rankotom_edge.model.card import CropContract, FacesUsed
from rankotom_edge.recording.session import PREFIX, READINGS, VIDEO, Session, read_session
from rankotom_edge.sources.files import read_image
from rankotom_edge.sources.grammar import IMAGE_SUFFIXES

Item = TypeVar("Item")

LEAST = 50  # faces of each part
MOST_TO_CALIBRATE, MOST_TO_JUDGE = 1_000, 4_000

# Folders of photos are people, as LFW's are, where there are more than a data set has expressions:
# 8 in AffectNet, 11 in RAF-DB's compounds. Fewer may well be "angry" and "happy", and a gate that
# judged by every other one of those would never see the rest.
FEWEST_PEOPLE = 12

# Seconds of a session.
APART = 0.5  # between two faces of a track
GAP = 5.0  # between the parts: what a face shows lasts a few seconds

MOST_NAMED = 3  # photos in a note
GOLDEN = (math.sqrt(5) - 1) / 2
GREY = (128, 128, 128)

WHAT_TO_GIVE = (
    "Give a folder of face photos, or a session: rankotom-edge camera --record DIR --record-video"
)


@dataclass(frozen=True, eq=False)
class UnlabelledFaces:
    calibrate: NDArray[np.uint8]  # (n, channels, size, size)
    judge: NDArray[np.uint8]
    calibrated_on: FacesUsed
    judged_on: FacesUsed
    note: str | None  # what a person should know of them


def unlabelled_faces(folder: Path, crop: CropContract) -> UnlabelledFaces:
    """``folder`` holds photos, also in sub-folders, or is what ``read_session`` takes."""
    try:
        inside = list(folder.iterdir())
    except OSError as error:
        raise RankotomError(f"Cannot read {folder}: {error.strerror}. {WHAT_TO_GIVE}") from error
    if not inside:
        raise RankotomError(f"{folder} is empty. {WHAT_TO_GIVE}")
    if _holds_session(folder):
        return _from_session(read_session(folder), crop)
    return _from_photos(folder, crop)


def _holds_session(folder: Path) -> bool:
    """By what only our recordings have: others keep a metadata.json beside their photos too."""
    places = (folder, *folder.glob(f"{PREFIX}*"))
    return any((place / name).is_file() for place in places for name in (READINGS, VIDEO))


def _parted(
    name: str, calibrate: Sequence[Image], judge: Sequence[Image], remarks: Iterable[str]
) -> UnlabelledFaces:
    first, second = np.stack(calibrate), np.stack(judge)
    return UnlabelledFaces(
        calibrate=first,
        judge=second,
        calibrated_on=_used(f"{name}/calibrate", first),
        judged_on=_used(f"{name}/judge", second),
        note="; ".join(remarks) or None,
    )


def _used(name: str, pixels: NDArray[np.uint8]) -> FacesUsed:
    return FacesUsed(name, len(pixels), faces_hash(pixels, np.empty(0, np.int64)))


def _large_enough(face: Face) -> bool:
    return math.dist(face.left_eye, face.right_eye) >= POOR_EYES


def _cut(image: Image, face: Face, contract: CropContract) -> Image:
    return crop(image, face, contract.framing, contract.size, contract.channels)


def _spread(items: Sequence[Item]) -> list[Item]:
    """In an order of which every beginning is spread evenly over all (multiples of the golden
    ratio, by their fractions), so that a search may stop anywhere."""
    order = sorted(range(len(items)), key=lambda index: index * GOLDEN % 1)
    return [items[index] for index in order]


def _with_progress(items: Iterable[Item], total: int, title: str) -> Iterator[Item]:
    console = Console(stderr=True)
    quiet = not console.is_terminal
    yield from track(items, title, total=total, console=console, transient=True, disable=quiet)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# Photos


class PhotoFinder(Closing):
    """The faces of a photo, as ``camera --source`` finds them in it, and where it finds none:

    - With a grey border, for the detector expects a head with room around it. Of FERPlus valid's
      48x48 crops (every 15th) that finds 86 % instead of 55 %, of LFW's photos cut down to the face
      98 % instead of 28 %.
    - With the full range: faces in the distance.
    """

    def __init__(self) -> None:
        with ExitStack() as stack:
            near, far = (
                stack.enter_context(FaceDetector(reach)).detect for reach in ("short", "full")
            )
            self._near, self._far = Tracker(near, stills=True), Tracker(far, stills=True)
            self._detectors = stack.pop_all()

    def find(self, photo: Image) -> tuple[Face, ...]:
        return (
            _found(self._near, photo)
            or _found_with_border(self._near, photo)
            or _found(self._far, photo)
        )

    def close(self) -> None:
        self._detectors.close()


def _found(tracker: Tracker, photo: Image) -> tuple[Face, ...]:
    tracked = tracker.update(Frame(photo, index=0, time=0.0, captured=0.0))
    return tuple(seen.face for seen in tracked if _large_enough(seen.face))


def _found_with_border(tracker: Tracker, photo: Image) -> tuple[Face, ...]:
    border = max(photo.shape[:2]) // 2
    sides = (border, border, border, border)
    roomy = cv2.copyMakeBorder(photo, *sides, cv2.BORDER_CONSTANT, value=GREY)
    back = Similarity(1, -complex(border, border))
    faces = _found(tracker, np.asarray(roomy, dtype=np.uint8))
    return tuple(face.carried(back) for face in faces)


@dataclass(frozen=True, eq=False)
class SearchedPhotos:
    faces: tuple[Image, ...]  # in the order of the photos
    looked_at: int
    without_face: int
    unreadable: tuple[Path, ...]
    repeated: int  # faces that were there before, to the pixel


def _from_photos(folder: Path, contract: CropContract) -> UnlabelledFaces:
    photos = _photos_of(folder)
    to_calibrate, to_judge = split_photos([photo.relative_to(folder) for photo in photos])
    known: set[bytes] = set()  # a copy of a photo must not be judged by
    with PhotoFinder() as finder:
        calibrate, judge = (
            _search([folder / photo for photo in part], most, finder, contract, known, title)
            for part, most, title in (
                (to_calibrate, MOST_TO_CALIBRATE, "finding faces to calibrate on"),
                (to_judge, MOST_TO_JUDGE, "finding faces to judge by"),
            )
        )
    remarks = list(_remarks_on_photos(photos, folder, calibrate, judge))
    found = len(calibrate.faces), len(judge.faces)
    if min(found) < LEAST:
        raise RankotomError(
            f"Found {_counted(sum(found), 'face')} in {_counted(len(photos), 'photo')} of "
            f"{folder}: {found[0]:,} to calibrate on and {found[1]:,} to judge by, and {LEAST} of "
            f"each are needed{_in_brackets(remarks)}. Give a folder with more photos of faces, "
            "best of many people."
        )
    return _parted(folder.resolve().name, calibrate.faces, judge.faces, remarks)


def _photos_of(folder: Path) -> list[Path]:
    files = [
        path
        for path in folder.rglob("*")
        # macOS keeps a ._photo.jpg, which is none, beside each photo on a foreign disk.
        if path.is_file() and not path.name.startswith(".")
    ]
    photos = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES]
    if not photos:
        others = f"but {_counted(len(files), 'other file')}" if files else "nor any other file"
        raise RankotomError(
            f"There is no photo in {folder}, {others}. Give a folder of "
            f"{', '.join(IMAGE_SUFFIXES[:-1])} or {IMAGE_SUFFIXES[-1]} files, or a session: "
            "rankotom-edge camera --record DIR --record-video"
        )
    return sorted(photos, key=lambda path: path.relative_to(folder).as_posix())


def split_photos(photos: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Every other photo, or all photos of every other person, where each has a folder."""
    by_person = folders_are_people(photos)
    groups: dict[Path, list[Path]] = {}
    for photo in photos:
        alone = not by_person or photo.parent == Path()
        groups.setdefault(photo if alone else photo.parent, []).append(photo)
    parted = list(groups.values())
    first, second = ([photo for group in parted[start::2] for photo in group] for start in (0, 1))
    return first, second


def folders_are_people(photos: Iterable[Path]) -> bool:
    """By the last folder's name alone, for train/happy and test/happy are one expression."""
    return len({photo.parent.name for photo in photos} - {""}) >= FEWEST_PEOPLE


def _search(
    photos: Sequence[Path],
    most: int,
    finder: PhotoFinder,
    contract: CropContract,
    known: set[bytes],
    title: str,
) -> SearchedPhotos:
    """Up to ``most`` faces; those of ``known`` are left out, and the new ones added to it."""
    faces: list[tuple[Path, Image]] = []
    unreadable: list[Path] = []
    looked_at = without_face = repeated = 0
    # With about a face a photo, the search ends after ``most`` photos.
    for path in _with_progress(_spread(photos), min(len(photos), most), title):
        looked_at += 1
        photo = read_image(path)
        if photo is None:
            unreadable.append(path)
            continue
        found = finder.find(photo)
        without_face += not found
        for face in found:
            seen = _cut(photo, face, contract)
            if seen.tobytes() in known:
                repeated += 1
            else:
                known.add(seen.tobytes())
                faces.append((path, seen))
        if len(faces) >= most:
            break
    place = {path: number for number, path in enumerate(photos)}
    ordered = sorted(faces[:most], key=lambda face: place[face[0]])
    return SearchedPhotos(
        faces=tuple(seen for _, seen in ordered),
        looked_at=looked_at,
        without_face=without_face,
        unreadable=tuple(unreadable),
        repeated=repeated,
    )


def _remarks_on_photos(
    photos: Sequence[Path], folder: Path, calibrate: SearchedPhotos, judge: SearchedPhotos
) -> Iterator[str]:
    looked_at = calibrate.looked_at + judge.looked_at
    if looked_at < len(photos):
        yield (
            f"{looked_at:,} of {len(photos):,} photos, evenly spread, were enough: at most "
            f"{MOST_TO_CALIBRATE:,} faces to calibrate on and {MOST_TO_JUDGE:,} to judge by"
        )
    without_face = calibrate.without_face + judge.without_face
    if without_face:
        yield f"{without_face:,} of {_counted(looked_at, 'photo')} had no face"
    unreadable = sorted(calibrate.unreadable + judge.unreadable)
    if unreadable:
        named = [str(path.relative_to(folder)) for path in unreadable[:MOST_NAMED]]
        more = len(unreadable) - len(named)
        names = ", ".join([*named, f"{more:,} more"] if more else named)
        yield f"{len(unreadable):,} of {_counted(looked_at, 'photo')} can't be read ({names})"
    repeated = calibrate.repeated + judge.repeated
    if repeated:
        yield f"copies left out: {_counted(repeated, 'face')}"
    relative = [photo.relative_to(folder) for photo in photos]
    folders = {photo.parent for photo in relative} - {Path()}
    if len(folders) > 1 and not folders_are_people(relative):
        yield f"{len(folders)} folders are too few to be people: the photos of each take turns"


def _in_brackets(remarks: Sequence[str]) -> str:
    return f" ({'; '.join(remarks)})" if remarks else ""


# Sessions


class Sighting(NamedTuple):
    """A face of a session: the frame, which of its readings, and the time in seconds."""

    frame: int
    place: int
    time: float


def _from_session(session: Session, contract: CropContract) -> UnlabelledFaces:
    if not session.has_video:
        raise RankotomError(
            f"The session {session.folder} has no video to take faces from. "
            "Record one with: rankotom-edge camera --record DIR --record-video"
        )
    seen = thinned(session)
    to_calibrate, to_judge = split_in_time(seen)
    first, second = (
        sorted(_spread(part)[:most])
        for part, most in ((to_calibrate, MOST_TO_CALIBRATE), (to_judge, MOST_TO_JUDGE))
    )
    cut = _cut_from_video(session, [*first, *second], contract)
    calibrate, judge = ([cut[face] for face in part if face in cut] for part in (first, second))
    if min(len(calibrate), len(judge)) < LEAST:
        raise RankotomError(
            f"Found {_counted(len(seen), 'face')} in the session {session.folder}, two a second of "
            f"each person: {len(calibrate)} to calibrate on and, {GAP:.0f} s later, {len(judge)} "
            f"to judge by, and {LEAST} of each are needed. Record for two minutes or more: "
            "rankotom-edge camera --record DIR --record-video --seconds 120"
        )
    found, wanted = len(to_calibrate) + len(to_judge), len(first) + len(second)
    remarks = _remarks_on_session(session, found, wanted, len(cut))
    return _parted(session.folder.resolve().name, calibrate, judge, remarks)


def thinned(session: Session) -> list[Sighting]:
    """At most two a second of each track: neighbours in time are the same picture."""
    seen: list[Sighting] = []
    latest: dict[int, float] = {}
    # Without the video, of which only few pictures will be looked at.
    for number, moment in enumerate(replace(session, has_video=False).moments()):
        time = moment.frame.time
        for place, reading in enumerate(moment.readings):
            # The score is 0 while a face is followed but not found again: it may be gone.
            usable = reading.face.score > 0 and _large_enough(reading.face)
            if usable and time - latest.get(reading.track, -math.inf) >= APART:
                latest[reading.track] = time
                seen.append(Sighting(number, place, time))
    return seen


def split_in_time(seen: Sequence[Sighting]) -> tuple[list[Sighting], list[Sighting]]:
    """The first half of the faces and the second, but for those within the gap between them."""
    if not seen:
        return [], []
    middle = seen[len(seen) // 2].time
    before = [face for face in seen if face.time < middle - GAP / 2]
    after = [face for face in seen if face.time >= middle + GAP / 2]
    return before, after


def _cut_from_video(
    session: Session, wanted: Sequence[Sighting], contract: CropContract
) -> Mapping[Sighting, Image]:
    """Those that the video holds: it may break off before the readings do."""
    by_frame: dict[int, list[Sighting]] = {}
    for face in wanted:
        by_frame.setdefault(face.frame, []).append(face)
    frames = max(by_frame, default=-1) + 1
    shown = _with_progress(islice(session.moments(), frames), frames, "cutting faces from video")
    return {
        face: _cut(moment.frame.image, moment.readings[face.place].face, contract)
        for number, moment in enumerate(shown)
        for face in by_frame.get(number, ())
    }


def _remarks_on_session(session: Session, found: int, wanted: int, cut: int) -> Iterator[str]:
    if session.metadata.get("still"):
        yield "this is the demo's portrait, one face again and again"
    else:
        yield "frames of one video are alike, so these faces tell less than as many photos would"
    if wanted < found:
        yield f"{wanted:,} of {found:,} faces, evenly spread, are enough"
    if cut < wanted:
        yield f"the video breaks off before {_counted(wanted - cut, 'face')}"
