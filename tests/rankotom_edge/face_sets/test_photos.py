"""Faces of photos: found as the live app finds them, and none in both parts."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.face_sets.face_split import FaceSplit, SplitSizes
from rankotom_edge.face_sets.photos import PhotoDetector, faces_of_photos, split_photos
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.card import CropContract
from rankotom_edge.sources.demo import demo_picture, load_portrait
from train.data.datasets import data_folder

CONTRACT = CropContract(48, 1, FERPLUS_FRAMING)
LFW = data_folder(None) / "lfw-deepfunneled"
FERPLUS_VALID = data_folder(None) / "FERPlus" / "data" / "FER2013Valid"
needs_lfw = pytest.mark.skipif(not LFW.is_dir(), reason=f"LFW is not in {LFW.parent}")
needs_ferplus = pytest.mark.skipif(
    not FERPLUS_VALID.is_dir(), reason=f"FERPlus valid is not in {FERPLUS_VALID}"
)


def photo(number: int, size: tuple[int, int] = (320, 240)) -> Image:
    """The portrait as another photographer took it: moved, turned, nearer, in another light."""
    seen = demo_picture(load_portrait(), 0.7 * number, size)
    light, contrast = 20 * np.sin(number), 0.8 + 0.2 * np.cos(1.7 * number)
    return np.asarray(cv2.convertScaleAbs(seen, alpha=contrast, beta=20 + light), dtype=np.uint8)


def write(path: Path, picture: Image) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), picture)


def wall(size: int = 160) -> Image:
    return np.full((size, size, 3), 120, np.uint8)


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """112 photos of many formats; on one are two faces, on two none, and three are broken."""
    folder = tmp_path_factory.mktemp("pictures") / "album"
    suffixes = ("jpg", "png", "webp", "bmp", "JPEG")
    for number in range(106):
        write(folder / f"{number:03}.{suffixes[number % len(suffixes)]}", photo(number))
    write(folder / "pair.png", np.vstack([photo(500), photo(501)]))
    write(folder / "wall.png", wall())
    write(folder / "pixel.png", wall(1))
    (folder / "text.jpg").write_text("not a picture")
    (folder / "nothing.png").touch()
    (folder / "torn.jpg").write_bytes((folder / "000.jpg").read_bytes()[:5000])
    (folder / "readme.txt").write_text("not a photo")
    (folder / "._000.jpg").write_text("macOS")
    (folder / "metadata.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def faces(album: Path) -> FaceSplit:
    return faces_of_photos(album, CONTRACT, SplitSizes())


def test_every_face_of_a_folder_is_cut_for_the_network(faces: FaceSplit) -> None:
    assert faces.calibration.dtype == faces.held_out.dtype == np.uint8
    assert faces.calibration.shape[1:] == faces.held_out.shape[1:] == (1, 48, 48)
    assert len(faces.calibration) + len(faces.held_out) == 108
    assert min(len(faces.calibration), len(faces.held_out)) >= 50


def test_photos_without_a_face_and_unreadable_ones_are_in_the_note(faces: FaceSplit) -> None:
    assert faces.note == (
        "2 of 112 photos had no face; 3 of 112 photos cannot be read (nothing.png, text.jpg, "
        "torn.jpg)"
    )


def test_a_face_is_cut_exactly_as_live_cuts_it(faces: FaceSplit, album: Path) -> None:
    """The first two photos: one in each part."""
    with FaceDetector() as detector:
        tracker = Tracker(detector.detect, stills=True)
        for name, part in (("000.jpg", faces.calibration), ("001.png", faces.held_out)):
            image = np.asarray(cv2.imread(str(album / name)), dtype=np.uint8)
            (tracked,) = tracker.update(Frame(image, 0, 0.0, 0.0))
            assert (part[0] == crop(image, tracked.face, FERPLUS_FRAMING, 48, 1)).all()


def test_no_face_is_in_both_parts_though_a_photo_was_copied(
    album: Path, faces: FaceSplit, tmp_path: Path
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(album, copied)
    for name in ("000.jpg", "002.webp"):
        shutil.copy(copied / name, copied / f"{Path(name).stem} copy{Path(name).suffix}")
    again = faces_of_photos(copied, CONTRACT, SplitSizes())
    calibrate, judge = (
        {face.tobytes() for face in part} for part in (again.calibration, again.held_out)
    )
    assert not calibrate & judge
    assert len(calibrate | judge) == len(faces.calibration) + len(faces.held_out)
    assert "copies left out: 2 faces" in again.note


def test_a_colour_model_of_another_size_gets_colour_faces(album: Path) -> None:
    contract = CropContract(32, 3, FERPLUS_FRAMING)
    few = faces_of_photos(album, contract, SplitSizes(3, max_calibration=4, max_held_out=6))
    assert few.calibration.shape == (4, 3, 32, 32)
    assert few.held_out.shape == (6, 3, 32, 32)
    assert "of 112 photos, evenly spread, were enough: at most 4 faces" in few.note


def test_enough_faces_are_spread_over_all_photos(album: Path, faces: FaceSplit) -> None:
    few = faces_of_photos(album, CONTRACT, SplitSizes(3, max_calibration=6, max_held_out=6))
    all_faces = [face.tobytes() for face in faces.calibration]
    places = [all_faces.index(face.tobytes()) for face in few.calibration]
    assert places == sorted(places)
    assert max(np.diff([0, *places, len(all_faces)])) <= 2 * len(all_faces) / 6


def test_the_same_folder_gives_the_same_faces_wherever_it_lies(
    album: Path, faces: FaceSplit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(album, tmp_path / "album")
    monkeypatch.chdir(tmp_path / "album")
    again = faces_of_photos(Path(), CONTRACT, SplitSizes())
    assert again.name == faces.name == "album"
    assert (again.calibration == faces.calibration).all()
    assert (again.held_out == faces.held_out).all()


def test_too_few_faces_are_counted_and_the_error_says_what_to_give(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"{number}.jpg", photo(number))
    write(tmp_path / "wall.png", wall())
    with pytest.raises(
        RankotomError,
        match=r"Found 5 faces in 6 photos of .*: 3 to calibrate on and 2 to judge by, and 50 of "
        r"each are needed \(1 of 6 photos had no face\)\. Give a folder with more photos",
    ):
        faces_of_photos(tmp_path, CONTRACT, SplitSizes())


def found_live(picture: Image) -> int:
    with FaceDetector() as detector:
        return len(Tracker(detector.detect, stills=True).update(Frame(picture, 0, 0.0, 0.0)))


def small_photo(width: int) -> Image:
    small = cv2.resize(photo(0, (640, 480)), (width, width * 3 // 4), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8)


def test_a_face_too_small_to_read_is_left_out() -> None:
    small = small_photo(64)
    assert found_live(small) == 1
    with PhotoDetector() as detector:
        assert detector.detect(small) == ()
        assert len(detector.detect(small_photo(128))) == 1


def test_a_face_in_the_distance_is_found() -> None:
    hall = np.full((480, 640, 3), 120, np.uint8)
    hall[100:265, 150:370] = small_photo(220)
    assert found_live(hall) == 0
    with PhotoDetector() as detector:
        (face,) = detector.detect(hall)
    assert 150 < face.left_eye[0] < face.right_eye[0] < 370
    assert 100 < face.left_eye[1] < face.mouth[1] < 265


def test_a_face_that_fills_its_picture_is_found_where_it_is() -> None:
    whole = photo(0, (640, 480))
    with PhotoDetector() as detector:
        (face,) = detector.detect(whole)
        side = round(0.8 * face.box[2])
        left, top = (round(middle - side / 2) for middle in face.centre)
        tight = np.ascontiguousarray(whole[top : top + side, left : left + side])
        assert found_live(tight) == 0
        (again,) = detector.detect(tight)
    for known, found in zip(
        (face.left_eye, face.right_eye, face.mouth),
        (again.left_eye, again.right_eye, again.mouth),
        strict=True,
    ):
        moved = (known[0] - left, known[1] - top)
        assert found == pytest.approx(moved, abs=0.06 * side)


def test_photos_of_one_folder_are_split_one_by_one() -> None:
    photos = [Path(f"{number}.jpg") for number in range(5)]
    assert split_photos(photos) == (photos[::2], photos[1::2])


def test_a_person_who_has_a_folder_is_in_one_part_only() -> None:
    people = [Path(f"person-{number:02}") for number in range(13)]
    photos = [person / f"{number}.jpg" for person in people for number in range(3)]
    first, second = split_photos([Path("loose.jpg"), *photos])
    assert {path.parent for path in first} == {Path(), *people[1::2]}
    assert {path.parent for path in second} == set(people[::2])
    assert Counter([*first, *second]) == Counter([Path("loose.jpg"), *photos])


def test_folders_that_may_be_emotions_are_in_both_parts() -> None:
    """Otherwise each part would lack half of the emotions."""
    folders = [
        Path(part, expression)
        for part in ("test", "train")
        for expression in ("angry", "disgust", "fear", "happy", "neutral", "sad", "scorn", "wow")
    ]
    photos = [folder / f"{number}.jpg" for folder in folders for number in range(4)]
    first, second = split_photos(photos)
    assert {path.parent for path in first} == {path.parent for path in second} == set(folders)


@needs_lfw
def test_no_person_of_lfw_is_in_both_parts(tmp_path: Path) -> None:
    people = sorted(LFW.iterdir())[::40][:110]
    for person in people:
        shutil.copytree(person, tmp_path / "lfw" / person.name)
    pictures = sorted((tmp_path / "lfw").glob("*/*.jpg"))
    faces = faces_of_photos(tmp_path / "lfw", CONTRACT, SplitSizes())
    assert (
        0.97 * len(pictures) <= len(faces.calibration) + len(faces.held_out) < 1.3 * len(pictures)
    )
    second = people[1]
    with PhotoDetector() as detector:
        first_judged = cv2.imread(str(sorted(second.iterdir())[0]))
        found = detector.detect(np.asarray(first_judged, dtype=np.uint8))
    assert (faces.held_out[0] == crop(first_judged, found[0], FERPLUS_FRAMING, 48, 1)).all()


@needs_ferplus
def test_most_of_ferplus_is_found_though_its_faces_fill_their_pictures() -> None:
    pictures = sorted(FERPLUS_VALID.glob("*.png"))[::60]
    with PhotoDetector() as detector:
        found = [
            len(detector.detect(np.asarray(cv2.imread(str(picture)), dtype=np.uint8)))
            for picture in pictures
        ]
    assert np.mean([count > 0 for count in found]) > 0.8
    assert max(found) == 1
