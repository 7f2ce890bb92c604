"""The faces of a folder of photos."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.face_sets.face_split import (
    FaceSplit,
    SplitSizes,
    count_words,
    cut_face,
    is_large_enough,
    spread_evenly,
    with_progress,
)
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.frame import Frame, Image
from rankotom_edge.geometry import Similarity
from rankotom_edge.model.card import CropContract
from rankotom_edge.pictures import read_picture, shrink_to
from rankotom_edge.sources.source_parser import IMAGE_SUFFIXES

# From this many folders on, folders are people, as in LFW. Fewer may be emotions (8 in AffectNet,
# 11 compound ones in RAF-DB); split by folder, each part would lack half of the emotions.
MIN_PEOPLE = 12
MAX_NAMED = 3  # photos in a note
GREY = (128, 128, 128)
# Pixels; the face that is looked for fills the picture, and a border makes it four times as large.
LARGEST_WITH_BORDER = 4096


class PhotoDetector(Closing):
    """Finds the faces of a photo as ``camera --source`` does. If there are none, it tries again:

    - with a grey border, because the detector expects some room around a head. That finds most
      faces of FERPlus, which fill their picture (tests/rankotom_edge/face_sets/test_photos.py).
    - with the full-range detector, for faces in the distance.
    """

    def __init__(self) -> None:
        with ExitStack() as stack:
            near, far = (
                stack.enter_context(FaceDetector(reach)).detect for reach in ("short", "full")
            )
            self._near, self._far = Tracker(near, stills=True), Tracker(far, stills=True)
            self._detectors = stack.pop_all()

    def detect(self, photo: Image) -> tuple[Face, ...]:
        return (
            _detect(self._near, photo)
            or _detect_with_border(self._near, photo)
            or _detect(self._far, photo)
        )

    def close(self) -> None:
        self._detectors.close()


def _detect(tracker: Tracker, photo: Image) -> tuple[Face, ...]:
    tracked = tracker.update(Frame(photo, index=0, time=0.0, captured=0.0))
    return tuple(each.face for each in tracked if is_large_enough(each.face))


def _detect_with_border(tracker: Tracker, photo: Image) -> tuple[Face, ...]:
    smaller, share = shrink_to(photo, LARGEST_WITH_BORDER)
    border = max(smaller.shape[:2]) // 2
    sides = (border, border, border, border)
    larger = cv2.copyMakeBorder(smaller, *sides, cv2.BORDER_CONSTANT, value=GREY)
    without_border = Similarity(1 / share, -complex(border, border) / share)
    faces = _detect(tracker, np.asarray(larger, dtype=np.uint8))
    return tuple(face.transform(without_border) for face in faces)


@dataclass(frozen=True, eq=False)
class PhotoFaces:
    faces: tuple[Image, ...]  # in the order of the photos
    photos_read: int
    without_face: int
    unreadable: tuple[Path, ...]
    duplicates: int  # faces identical to an earlier one, pixel for pixel


def faces_of_photos(folder: Path, contract: CropContract, sizes: SplitSizes) -> FaceSplit:
    photos = find_photos(folder)
    parts = split_photos([photo.relative_to(folder) for photo in photos])
    known: set[bytes] = set()  # so that no copy of a calibration photo is held out
    with PhotoDetector() as detector:
        calibration, held_out = (
            _collect([folder / photo for photo in part], limit, detector, contract, known, title)
            for part, limit, title in (
                (parts[0], sizes.max_calibration, "finding faces to calibrate on"),
                (parts[1], sizes.max_held_out, "finding faces to judge by"),
            )
        )
    remarks = list(_remarks(photos, folder, calibration, held_out, sizes))
    found = len(calibration.faces), len(held_out.faces)
    if min(found) < sizes.minimum:
        in_brackets = f" ({'; '.join(remarks)})" if remarks else ""
        raise RankotomError(
            f"Found {count_words(sum(found), 'face')} in {count_words(len(photos), 'photo')} of "
            f"{folder}: {found[0]:,} to calibrate on and {found[1]:,} to judge by, and "
            f"{sizes.minimum} of each are needed{in_brackets}. Give a folder with more photos of "
            "faces, best of many people."
        )
    return FaceSplit(
        folder.resolve().name,
        np.stack(calibration.faces),
        np.stack(held_out.faces),
        "; ".join(remarks),
    )


def find_photos(folder: Path) -> list[Path]:
    files = [
        path
        for path in folder.rglob("*")
        # On foreign disks macOS writes a ._photo.jpg, which is no photo, for each photo.
        if path.is_file() and not path.name.startswith(".")
    ]
    photos = [path for path in files if path.suffix.lower() in IMAGE_SUFFIXES]
    if not photos:
        others = f"but {count_words(len(files), 'other file')}" if files else "nor any other file"
        raise RankotomError(
            f"There is no photo in {folder}, {others}. Give a folder of "
            f"{', '.join(IMAGE_SUFFIXES[:-1])} or {IMAGE_SUFFIXES[-1]} files, or a session: "
            "rankotom-edge camera --record DIR --record-video"
        )
    return sorted(photos, key=lambda path: path.relative_to(folder).as_posix())


def split_photos(photos: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Every other photo; where each person has a folder, all photos of every other person."""
    by_person = folders_are_people(photos)
    groups: dict[Path, list[Path]] = {}
    for photo in photos:
        alone = not by_person or photo.parent == Path()
        groups.setdefault(photo if alone else photo.parent, []).append(photo)
    in_order = list(groups.values())
    first, second = ([photo for group in in_order[start::2] for photo in group] for start in (0, 1))
    return first, second


def folders_are_people(photos: Iterable[Path]) -> bool:
    """By the names of the innermost folders: train/happy and test/happy are one emotion."""
    return len({photo.parent.name for photo in photos} - {""}) >= MIN_PEOPLE


def _collect(
    photos: Sequence[Path],
    limit: int,
    detector: PhotoDetector,
    contract: CropContract,
    known: set[bytes],
    title: str,
) -> PhotoFaces:
    """Up to ``limit`` faces that are not in ``known``; they are added to it."""
    faces: list[tuple[Path, Image]] = []
    unreadable: list[Path] = []
    photos_read = without_face = duplicates = 0
    # With about one face a photo, the search ends after ``limit`` photos.
    for path in with_progress(spread_evenly(photos), min(len(photos), limit), title):
        photos_read += 1
        try:
            photo = read_picture(path)
        except RankotomError:
            unreadable.append(path)
            continue
        found = detector.detect(photo)
        without_face += not found
        for face in found:
            pixels = cut_face(photo, face, contract)
            if pixels.tobytes() in known:
                duplicates += 1
            else:
                known.add(pixels.tobytes())
                faces.append((path, pixels))
        if len(faces) >= limit:
            break
    position = {path: number for number, path in enumerate(photos)}
    ordered = sorted(faces[:limit], key=lambda face: position[face[0]])
    return PhotoFaces(
        faces=tuple(pixels for _, pixels in ordered),
        photos_read=photos_read,
        without_face=without_face,
        unreadable=tuple(unreadable),
        duplicates=duplicates,
    )


def _remarks(
    photos: Sequence[Path],
    folder: Path,
    calibration: PhotoFaces,
    held_out: PhotoFaces,
    sizes: SplitSizes,
) -> Iterator[str]:
    read = calibration.photos_read + held_out.photos_read
    if read < len(photos):
        yield (
            f"{read:,} of {len(photos):,} photos, evenly spread, were enough: at most "
            f"{sizes.max_calibration:,} faces to calibrate on and {sizes.max_held_out:,} to judge "
            "by"
        )
    without_face = calibration.without_face + held_out.without_face
    if without_face:
        yield f"{without_face:,} of {count_words(read, 'photo')} had no face"
    unreadable = sorted(calibration.unreadable + held_out.unreadable)
    if unreadable:
        named = [str(path.relative_to(folder)) for path in unreadable[:MAX_NAMED]]
        more = len(unreadable) - len(named)
        names = ", ".join([*named, f"{more:,} more"] if more else named)
        yield f"{len(unreadable):,} of {count_words(read, 'photo')} cannot be read ({names})"
    duplicates = calibration.duplicates + held_out.duplicates
    if duplicates:
        yield f"copies left out: {count_words(duplicates, 'face')}"
    relative = [photo.relative_to(folder) for photo in photos]
    folders = {photo.parent for photo in relative} - {Path()}
    if len(folders) > 1 and not folders_are_people(relative):
        yield (
            f"{len(folders)} folders are too few to be people: the photos of each were split too"
        )
