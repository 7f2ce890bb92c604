"""Faces without labels: found as live finds them, and never on both sides."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from export import unlabelled
from export.predict import faces_hash
from export.unlabelled import (
    PhotoFinder,
    Sighting,
    UnlabelledFaces,
    split_in_time,
    split_photos,
    thinned,
    unlabelled_faces,
)
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.frame import Frame, Image
from rankotom_edge.live.reader import Reader
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.card import CropContract
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.session import Recorder, describe_session, read_session
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
def faces(album: Path) -> UnlabelledFaces:
    return unlabelled_faces(album, CONTRACT)


def test_every_face_of_a_folder_is_as_the_network_sees_it(faces: UnlabelledFaces) -> None:
    assert faces.calibrate.dtype == faces.judge.dtype == np.uint8
    assert faces.calibrate.shape[1:] == faces.judge.shape[1:] == (1, 48, 48)
    assert len(faces.calibrate) + len(faces.judge) == 108
    assert min(len(faces.calibrate), len(faces.judge)) >= 50


def test_what_a_person_should_know_is_said(faces: UnlabelledFaces) -> None:
    assert faces.note == (
        "2 of 112 photos had no face; 3 of 112 photos can't be read (nothing.png, text.jpg, "
        "torn.jpg)"
    )


def test_faces_are_named_and_hashed_without_labels(faces: UnlabelledFaces, album: Path) -> None:
    nobody = np.empty(0, np.int64)
    used, judged = faces.calibrated_on, faces.judged_on
    assert (used.name, judged.name) == ("album/calibrate", "album/judge")
    assert (used.count, judged.count) == (len(faces.calibrate), len(faces.judge))
    assert used.sha256 == faces_hash(faces.calibrate, nobody)
    assert judged.sha256 == faces_hash(faces.judge, nobody)


def test_a_face_is_cut_exactly_as_live_cuts_it(faces: UnlabelledFaces, album: Path) -> None:
    """The first two photos: one is calibrated on, the other judged by."""
    with FaceDetector() as detector:
        tracker = Tracker(detector.detect, stills=True)
        for name, part in (("000.jpg", faces.calibrate), ("001.png", faces.judge)):
            image = np.asarray(cv2.imread(str(album / name)), dtype=np.uint8)
            (tracked,) = tracker.update(Frame(image, 0, 0.0, 0.0))
            assert (part[0] == crop(image, tracked.face, FERPLUS_FRAMING, 48, 1)).all()


def test_no_face_is_on_both_sides_though_a_photo_was_copied(
    album: Path, faces: UnlabelledFaces, tmp_path: Path
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(album, copied)
    for name in ("000.jpg", "002.webp"):
        shutil.copy(copied / name, copied / f"{Path(name).stem} copy{Path(name).suffix}")
    again = unlabelled_faces(copied, CONTRACT)
    calibrate, judge = (
        {face.tobytes() for face in part} for part in (again.calibrate, again.judge)
    )
    assert not calibrate & judge
    assert len(calibrate | judge) == len(faces.calibrate) + len(faces.judge)
    assert "copies left out: 2 faces" in (again.note or "")


def test_a_colour_model_of_another_size_gets_colour_faces(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled, "LEAST", 3)
    monkeypatch.setattr(unlabelled, "MOST_TO_CALIBRATE", 4)
    monkeypatch.setattr(unlabelled, "MOST_TO_JUDGE", 6)
    few = unlabelled_faces(album, CropContract(32, 3, FERPLUS_FRAMING))
    assert few.calibrate.shape == (4, 3, 32, 32)
    assert few.judge.shape == (6, 3, 32, 32)
    assert "of 112 photos, evenly spread, were enough: at most 4 faces" in (few.note or "")


def test_enough_faces_are_spread_over_all_photos(
    album: Path, faces: UnlabelledFaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled, "LEAST", 3)
    monkeypatch.setattr(unlabelled, "MOST_TO_CALIBRATE", 6)
    monkeypatch.setattr(unlabelled, "MOST_TO_JUDGE", 6)
    few = unlabelled_faces(album, CONTRACT)
    all_faces = [face.tobytes() for face in faces.calibrate]
    places = [all_faces.index(face.tobytes()) for face in few.calibrate]
    assert places == sorted(places)
    assert max(np.diff([0, *places, len(all_faces)])) <= 2 * len(all_faces) / 6


def test_the_same_folder_gives_the_same_faces_wherever_it_lies(
    album: Path, faces: UnlabelledFaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(album, tmp_path / "album")
    monkeypatch.chdir(tmp_path / "album")
    again = unlabelled_faces(Path(), CONTRACT)
    assert (again.calibrated_on, again.judged_on) == (faces.calibrated_on, faces.judged_on)


def test_too_few_faces_are_counted_and_the_way_out_is_named(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"{number}.jpg", photo(number))
    write(tmp_path / "wall.png", wall())
    with pytest.raises(
        RankotomError,
        match=r"Found 5 faces in 6 photos of .*: 3 to calibrate on and 2 to judge by, and 50 of "
        r"each are needed \(1 of 6 photos had no face\)\. Give a folder with more photos",
    ):
        unlabelled_faces(tmp_path, CONTRACT)


def test_a_folder_that_holds_nothing_of_use_says_so(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"nowhere: No such file.*a folder of face photos"):
        unlabelled_faces(tmp_path / "nowhere", CONTRACT)
    with pytest.raises(RankotomError, match=r"is empty\. Give a folder"):
        unlabelled_faces(tmp_path, CONTRACT)
    (tmp_path / "inside").mkdir()
    with pytest.raises(RankotomError, match=r"no photo in .*, nor any other file"):
        unlabelled_faces(tmp_path, CONTRACT)
    (tmp_path / "inside" / "photo.heic").touch()
    with pytest.raises(RankotomError, match=r"no photo in .*, but 1 other file\. .*\.jpg"):
        unlabelled_faces(tmp_path, CONTRACT)
    with pytest.raises(RankotomError, match=r"photo\.heic: Not a directory"):
        unlabelled_faces(tmp_path / "inside" / "photo.heic", CONTRACT)


def found_live(picture: Image) -> int:
    with FaceDetector() as detector:
        return len(Tracker(detector.detect, stills=True).update(Frame(picture, 0, 0.0, 0.0)))


def shrunk(width: int) -> Image:
    small = cv2.resize(photo(0, (640, 480)), (width, width * 3 // 4), interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.uint8)


def test_a_face_too_small_to_read_is_left_out() -> None:
    small = shrunk(64)
    assert found_live(small) == 1
    with PhotoFinder() as finder:
        assert finder.find(small) == ()
        assert len(finder.find(shrunk(128))) == 1


def test_a_face_in_the_distance_is_found() -> None:
    hall = np.full((480, 640, 3), 120, np.uint8)
    hall[100:265, 150:370] = shrunk(220)
    assert found_live(hall) == 0
    with PhotoFinder() as finder:
        (face,) = finder.find(hall)
    assert 150 < face.left_eye[0] < face.right_eye[0] < 370
    assert 100 < face.left_eye[1] < face.mouth[1] < 265


def test_a_face_that_fills_its_picture_is_found_and_cut_from_the_picture_itself() -> None:
    whole = photo(0, (640, 480))
    with PhotoFinder() as finder:
        (face,) = finder.find(whole)
        side = round(0.8 * face.box[2])
        left, top = (round(middle - side / 2) for middle in face.centre)
        tight = np.ascontiguousarray(whole[top : top + side, left : left + side])
        assert found_live(tight) == 0
        (again,) = finder.find(tight)
    for known, found in zip(
        (face.left_eye, face.right_eye, face.mouth),
        (again.left_eye, again.right_eye, again.mouth),
        strict=True,
    ):
        moved = (known[0] - left, known[1] - top)
        assert found == pytest.approx(moved, abs=0.06 * side)


def test_photos_of_one_folder_take_turns() -> None:
    photos = [Path(f"{number}.jpg") for number in range(5)]
    assert split_photos(photos) == (photos[::2], photos[1::2])


def test_a_person_who_has_a_folder_is_on_one_side_only() -> None:
    people = [Path(f"person-{number:02}") for number in range(13)]
    photos = [person / f"{number}.jpg" for person in people for number in range(3)]
    first, second = split_photos([Path("loose.jpg"), *photos])
    assert {path.parent for path in first} == {Path(), *people[1::2]}
    assert {path.parent for path in second} == set(people[::2])
    assert Counter([*first, *second]) == Counter([Path("loose.jpg"), *photos])


def test_folders_that_may_be_expressions_are_on_both_sides() -> None:
    """Else the gate would be blind to every other expression."""
    folders = [
        Path(part, expression)
        for part in ("test", "train")
        for expression in ("angry", "disgust", "fear", "happy", "neutral", "sad", "scorn", "wow")
    ]
    photos = [folder / f"{number}.jpg" for folder in folders for number in range(4)]
    first, second = split_photos(photos)
    assert {path.parent for path in first} == {path.parent for path in second} == set(folders)


@needs_lfw
def test_people_of_lfw_are_judged_whom_nothing_was_calibrated_on(tmp_path: Path) -> None:
    people = sorted(LFW.iterdir())[::40][:110]
    for person in people:
        shutil.copytree(person, tmp_path / "lfw" / person.name)
    pictures = sorted((tmp_path / "lfw").glob("*/*.jpg"))
    faces = unlabelled_faces(tmp_path / "lfw", CONTRACT)
    assert 0.97 * len(pictures) <= len(faces.calibrate) + len(faces.judge) < 1.3 * len(pictures)
    second = people[1]
    with PhotoFinder() as finder:
        first_judged = cv2.imread(str(sorted(second.iterdir())[0]))
        found = finder.find(np.asarray(first_judged, dtype=np.uint8))
    assert (faces.judge[0] == crop(first_judged, found[0], FERPLUS_FRAMING, 48, 1)).all()


@needs_ferplus
def test_most_of_ferplus_is_found_though_its_faces_have_no_room_around_them() -> None:
    pictures = sorted(FERPLUS_VALID.glob("*.png"))[::60]
    with PhotoFinder() as finder:
        found = [
            len(finder.find(np.asarray(cv2.imread(str(picture)), dtype=np.uint8)))
            for picture in pictures
        ]
    assert np.mean([count > 0 for count in found]) > 0.8
    assert max(found) == 1


FPS = 4.0


@pytest.fixture(scope="module")
def moments() -> list[FrameReadings]:
    """65 seconds of the demo, four frames a second, as the live loop reads them."""
    portrait = load_portrait()
    with FaceDetector() as detector:
        reader = Reader(detector.detect, Classifier(load_artifact("ferplus-fp32")), 0.5)
        read = []
        for index in range(int(65 * FPS)):
            time = index / FPS
            frame = Frame(demo_picture(portrait, time, (320, 240)), index, time, captured=time)
            read.append(reader.read(frame))
    return read


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory, moments: list[FrameReadings]) -> Path:
    return record(tmp_path_factory.mktemp("recordings"), moments).parent


def record(
    parent: Path, moments: list[FrameReadings], *, video: bool = True, still: bool = False
) -> Path:
    started = datetime(2026, 11, 16, 10, 42, 7, tzinfo=timezone.utc)
    artifact = load_artifact("ferplus-fp32")
    metadata = describe_session("camera 0", artifact, started, fps=FPS, still=still)
    with Recorder(parent, metadata, video) as recorder:
        for moment in moments:
            recorder.write(moment)
    return recorder.folder


def test_a_session_is_split_in_time_and_cut_where_it_was_read(recordings: Path) -> None:
    session = read_session(recordings)
    faces = unlabelled_faces(recordings, CONTRACT)
    assert faces.calibrated_on.name == f"{session.folder.name}/calibrate"
    assert min(len(faces.calibrate), len(faces.judge)) >= 50
    times = {
        crop(moment.frame.image, reading.face, FERPLUS_FRAMING, 48, 1).tobytes(): moment.frame.time
        for moment in session.moments()
        for reading in moment.readings
    }
    early, late = (
        [times[face.tobytes()] for face in part] for part in (faces.calibrate, faces.judge)
    )
    assert min(late) - max(early) >= 5
    for part in (early, late):
        assert min(np.diff(part)) >= 0.5
    assert faces.note == (
        "frames of one video are alike, so these faces tell less than as many photos would"
    )


def test_the_sessions_own_folder_and_its_parent_give_the_same_faces(recordings: Path) -> None:
    (session,) = recordings.iterdir()
    from_parent, itself = (unlabelled_faces(path, CONTRACT) for path in (recordings, session))
    assert from_parent.calibrated_on == itself.calibrated_on
    assert from_parent.judged_on == itself.judged_on


def test_a_long_session_is_used_evenly(recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlabelled, "LEAST", 3)
    monkeypatch.setattr(unlabelled, "MOST_TO_CALIBRATE", 10)
    monkeypatch.setattr(unlabelled, "MOST_TO_JUDGE", 20)
    faces = unlabelled_faces(recordings, CONTRACT)
    assert (len(faces.calibrate), len(faces.judge)) == (10, 20)
    assert "30 of 1" in (faces.note or "")


def test_a_face_that_was_lost_is_no_face(tmp_path: Path, moments: list[FrameReadings]) -> None:
    folder = record(tmp_path, moments[40:60])
    lines = (folder / "readings.jsonl").read_text()
    assert len(thinned(read_session(folder))) == 10
    score = moments[40].readings[0].as_json()["score"]
    assert f'"score":{score}' in lines
    (folder / "readings.jsonl").write_text(lines.replace(f'"score":{score}', '"score":0', 1))
    assert [face.frame for face in thinned(read_session(folder))][:2] == [1, 3]


def test_a_session_without_video_or_several_or_a_short_one_says_what_to_do(
    tmp_path: Path, moments: list[FrameReadings]
) -> None:
    silent = record(tmp_path / "silent", moments[:8], video=False)
    with pytest.raises(RankotomError, match=r"has no video.*--record-video"):
        unlabelled_faces(silent, CONTRACT)
    record(tmp_path / "silent", moments[:8])
    with pytest.raises(RankotomError, match="holds 2 sessions; name one"):
        unlabelled_faces(tmp_path / "silent", CONTRACT)
    empty = record(tmp_path / "empty", [])
    with pytest.raises(RankotomError, match="Found 0 faces in the session"):
        unlabelled_faces(empty, CONTRACT)


def test_a_session_that_camera_recorded_is_read(tmp_path: Path) -> None:
    arguments = ["camera", "--source", "demo", "--view", "none", "--frames", "40"]
    recorded = [*arguments, "--record", str(tmp_path), "--record-video"]
    subprocess.run([sys.executable, "-m", "rankotom_edge", *recorded], check=True, timeout=300)
    (folder,) = tmp_path.iterdir()
    assert 2 <= len(thinned(read_session(folder))) <= 3
    with pytest.raises(
        RankotomError, match=r"Found [23] faces in the session .*50 of each are needed\. Record for"
    ):
        unlabelled_faces(tmp_path, CONTRACT)


def test_the_demos_portrait_does_not_pass_for_many_people(
    tmp_path: Path, moments: list[FrameReadings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled, "LEAST", 3)
    folder = record(tmp_path, moments[:80], still=True)
    assert "demo's portrait" in (unlabelled_faces(folder, CONTRACT).note or "")


def test_a_torn_video_gives_what_it_holds(
    tmp_path: Path, moments: list[FrameReadings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlabelled, "LEAST", 3)
    folder = record(tmp_path, moments[:80])
    whole = unlabelled_faces(folder, CONTRACT)
    with (folder / "video.mjpeg").open("r+b") as file:
        file.truncate((folder / "video.mjpeg").stat().st_size * 9 // 10)
    torn = unlabelled_faces(folder, CONTRACT)
    assert torn.calibrated_on == whole.calibrated_on
    lost = len(whole.judge) - len(torn.judge)
    assert 0 < lost < len(whole.judge)
    assert f"the video breaks off before {lost} face" in (torn.note or "")
    assert (torn.judge == whole.judge[: len(torn.judge)]).all()


def test_the_split_is_by_faces_not_by_the_clock() -> None:
    """Somebody is there for a minute, and an hour later for another."""
    seen = [Sighting(index, 0, time) for index, time in enumerate([*range(60), *range(3600, 3660)])]
    before, after = split_in_time(seen)
    assert (before, after) == (seen[:60], seen[63:])
    assert split_in_time([]) == ([], [])
