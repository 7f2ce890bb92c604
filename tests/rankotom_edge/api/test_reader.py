"""The public reader on real pictures, clips and a camera's frames."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge import Reader
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.own_calibration import SavedCalibration, save_calibration
from rankotom_edge.sources.demo import demo_picture, load_portrait

SIZE = (320, 240)
MODEL = "ferplus-fp32"


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(MODEL) as reader:
        yield reader


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("photos") / "photo.png"
    cv2.imwrite(str(path), load_portrait())
    return path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "clip.avi"
    portrait = load_portrait()
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 20, SIZE)
    for number in range(40):
        writer.write(demo_picture(portrait, number / 20, SIZE))
    writer.release()
    return path


def camera_lines(source: Path) -> list[dict[str, Any]]:
    command = ["camera", "--source", str(source), "--view", "none", "--json", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "rankotom_edge", *command, "--model", MODEL],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def rounded(face: Any) -> dict[str, Any]:
    """As the JSON of ``camera`` has it."""
    return {
        "track": face.track,
        "box": [round(number, 1) for number in face.box],
        "points": {name: [round(at, 2) for at in point] for name, point in face.points.items()},
        "probabilities": {name: round(share, 5) for name, share in face.probabilities.items()},
        "raw": {name: round(share, 5) for name, share in face.raw.items()},
        "top": face.top,
        "confidence": round(face.confidence, 5),
        "blend": None if face.blend is None else list(face.blend),
        "blend_name": face.blend_name,
        "verdict": face.verdict,
        "reason": face.reason,
        "unreadable": face.unreadable,
        "set": list(face.prediction_set) or None,
        "set_coverage": face.set_coverage,
        "quality": round(face.quality, 3),
    }


@pytest.mark.parametrize("kind", ["clip", "photo"])
def test_frames_have_the_same_readings_as_camera_gives(
    kind: str, reader: Reader, request: pytest.FixtureRequest
) -> None:
    source = request.getfixturevalue(kind)
    frames, lines = list(reader.frames(source)), camera_lines(source)
    assert [each.frame for each in frames] == [line["frame"] for line in lines]
    assert sum(len(each.faces) for each in frames) > len(frames) / 2
    for each, line in zip(frames, lines, strict=True):
        assert round(each.time, 4) == line["time"]
        found = [rounded(face) for face in each.faces]
        assert found == [{name: face[name] for name in found[0]} for face in line["faces"]]


def test_a_picture_is_the_same_from_a_file_or_an_array_in_either_order_of_colours(
    reader: Reader, photo: Path
) -> None:
    image = load_portrait()
    from_file = reader.read(photo)
    (face,) = from_file.faces
    assert (face.top, face.verdict, face.track) == ("happiness", "sure", 1)
    assert reader.read(str(photo)) == from_file
    assert reader.read(photo.read_bytes()) == from_file
    assert reader.read(image) == from_file
    assert reader.read(np.ascontiguousarray(image[:, :, ::-1]), rgb=True) == from_file
    assert reader.read(cv2.cvtColor(image, cv2.COLOR_BGR2BGRA)) == from_file
    assert from_file.image.shape == image.shape


def test_a_grey_picture_is_read(reader: Reader) -> None:
    grey = cv2.cvtColor(load_portrait(), cv2.COLOR_BGR2GRAY)
    assert [face.top for face in reader.read(grey).faces] == ["happiness"]


def test_a_reading_is_a_frozen_plain_value(reader: Reader, photo: Path) -> None:
    (face,) = reader.read(photo).faces
    assert pickle.loads(pickle.dumps(face)) == face
    assert json.loads(json.dumps(asdict(face)))["top"] == "happiness"
    assert tuple(face.probabilities) == reader.labels
    assert sum(face.probabilities.values()) == pytest.approx(1)
    assert face.prediction_set[0] == face.top
    with pytest.raises(FrozenInstanceError):
        face.top = "anger"  # type: ignore[misc]


def test_pictures_with_a_time_are_one_stream_whose_face_keeps_its_number(clip: Path) -> None:
    with Reader(MODEL) as reader:
        read = [reader.read(each.image, time=each.time) for each in islice(reader.frames(clip), 30)]
        again = list(islice(reader.frames(clip), 30))
    assert read == again
    assert {face.track for each in read for face in each.faces} == {1}


def test_every_opening_of_a_source_starts_afresh(reader: Reader, clip: Path) -> None:
    assert list(reader.frames(clip)) == list(reader.frames(clip))


def test_fps_takes_the_first_frame_of_each_interval(reader: Reader, clip: Path) -> None:
    assert [each.frame for each in reader.frames(clip, fps=4)] == list(range(0, 40, 5))
    demo = islice(reader.frames("demo", fps=10), 4)
    assert [each.frame for each in demo] == [0, 3, 6, 9]


def test_a_folder_of_photographs_is_read_whole_whatever_fps_is(reader: Reader, photo: Path) -> None:
    for number in range(3):
        (photo.parent / f"{number}.png").write_bytes(photo.read_bytes())
    frames = list(reader.frames(photo.parent, fps=1))
    assert [len(each.faces) for each in frames] == [1, 1, 1, 1]
    assert len({each.faces[0].track for each in frames}) == 4


def test_a_table_is_what_pandas_takes(reader: Reader, clip: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame(reader.table(clip))
    faces = [face for each in reader.frames(clip) for face in each.faces]
    assert len(table) == len(faces)
    assert table["probability:happiness"].tolist() == [
        round(face.probabilities["happiness"], 5) for face in faces
    ]


def test_closing_the_generator_closes_the_source(reader: Reader, clip: Path) -> None:
    frames = reader.frames(clip)
    next(frames)
    frames.close()
    with pytest.raises(StopIteration):
        next(frames)


def test_threads_may_share_a_reader(reader: Reader, photo: Path, clip: Path) -> None:
    expected = reader.read(photo), list(reader.frames(clip))
    with ThreadPoolExecutor(3) as pool:
        pictures = [pool.submit(reader.read, photo) for _ in range(6)]
        clips = [pool.submit(lambda: list(reader.frames(clip))) for _ in range(2)]
        assert all(each.result() == expected[0] for each in pictures)
        assert all(each.result() == expected[1] for each in clips)


def test_a_calibration_on_own_faces_is_used_for_its_source_alone(
    fp32: Artifact, own_calibration: SavedCalibration, photo: Path
) -> None:
    save_calibration(replace(own_calibration, source=photo.name), fp32)
    with Reader(MODEL) as reader, Reader(MODEL, own_calibration=False) as plain:
        (own,), (shipped,) = reader.read(photo).faces, plain.read(photo).faces
        assert own.confidence < shipped.confidence
        assert reader.read(load_portrait()).faces == (shipped,)
        assert next(reader.frames(photo)).faces == (own,)
    with (
        Reader(MODEL, max_error=0.2) as careful,
        pytest.raises(RankotomError, match="150 own faces of photo.png"),  # noqa: RUF043
    ):
        careful.read(photo)


def test_a_smaller_error_budget_calls_more_unsure(photo: Path) -> None:
    blurred = np.asarray(cv2.GaussianBlur(load_portrait(), (0, 0), 3), np.uint8)
    with Reader(MODEL) as usual, Reader(MODEL, max_error=0.2) as careful:
        verdicts = [each.read(blurred).faces[0].verdict for each in (usual, careful)]
    assert verdicts == ["sure", "unsure"]


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("nowhere.jpg", "Cannot read nowhere.jpg: No such file"),
        (Path(__file__), "it is damaged, or none of BMP"),
        (np.zeros((4, 4, 3)), "array of bytes"),
        (np.zeros((4, 4, 2), np.uint8), "array of bytes"),
        (np.zeros(4, np.uint8), "array of bytes"),
        (np.zeros((0, 4, 3), np.uint8), "array of bytes"),
        (None, "this is NoneType. cv2.imread gives None"),
        ([[0]], "this is list"),
        (np.zeros((2, 40_000, 3), np.uint8), "40,000 x 2 pixels, and a side at most 32,766"),
        (np.zeros((32_767, 2), np.uint8), "2 x 32,767 pixels"),
        (b"no picture", "The picture cannot be read: it is damaged"),
    ],
)
def test_what_is_no_picture_is_an_error(image: Any, words: str, reader: Reader) -> None:
    with pytest.raises(RankotomError, match=words):
        reader.read(image)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf")])
def test_an_impossible_rate_is_an_error(fps: float, reader: Reader, clip: Path) -> None:
    with pytest.raises(RankotomError, match="fps"):
        next(reader.frames(clip, fps))


def test_an_unknown_source_or_model_is_an_error(reader: Reader) -> None:
    with pytest.raises(RankotomError, match="There is no source"):
        next(reader.frames("nowhere.mp4"))
    with pytest.raises(RankotomError, match="There is no model"):
        Reader("nothing")


@pytest.mark.parametrize("options", [{"max_error": 5}, {"max_error_each": -1}, {"reach": "far"}])
def test_an_option_outside_its_range_is_an_error_that_names_it(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(RankotomError, match=f"^{name} is "):
        Reader(MODEL, **options)


def test_a_closed_reader_says_so(photo: Path, clip: Path) -> None:
    with Reader(MODEL) as reader:
        reader.read(load_portrait(), time=0.0)
        frames, begun = reader.frames(clip), reader.frames(clip)
        next(begun)
    for read in (
        lambda: reader.read(photo),
        lambda: reader.read(load_portrait(), time=1.0),
        lambda: next(frames),
        lambda: next(begun),
    ):
        with pytest.raises(RankotomError, match="closed"):
            read()


def test_a_video_that_breaks_off_is_a_warning(reader: Reader, clip: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.avi"
    part.write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
    with pytest.warns(UserWarning, match="part.avi: the file breaks off after"):
        assert list(reader.frames(part))


@pytest.mark.parametrize("options", [{"max_error": 0.0001}, {"max_error_each": 0.0}])
def test_an_error_budget_that_cannot_be_met_is_refused_at_once(options: dict[str, float]) -> None:
    with pytest.raises(RankotomError, match=r"cannot be (promised|met)"):
        Reader(MODEL, **options)  # type: ignore[arg-type]


def test_a_script_that_forgets_to_close_ends(clip: Path) -> None:
    script = (
        "from rankotom_edge import Reader\n"
        f"reader = Reader(); frames = reader.frames({str(clip)!r}); print(next(frames).frame)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
