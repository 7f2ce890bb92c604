from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources import Source, files, open_source
from rankotom_edge.sources.capture import picture_of
from rankotom_edge.sources.files import breaks_off, natural_order, step

CLIPS = Path(__file__).parents[4] / "shared" / "data" / "clips"
needs_clips = pytest.mark.skipif(
    not CLIPS.exists(), reason=f"the clips {CLIPS} are not on this machine"
)


def picture(number: int) -> Image:
    """A grey that says its number, as far as lossy codecs keep it."""
    return np.full((48, 64, 3), 8 * number, dtype=np.uint8)


def number_of(image: Image) -> int:
    return round(float(image.mean()) / 8)


def write_video(path: Path, count: int = 20, fps: float = 20) -> Path:
    codec = "mp4v" if path.suffix == ".mp4" else "MJPG"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, (64, 48))
    for number in range(count):
        writer.write(picture(number))
    writer.release()
    return path


def write_image(path: Path, number: int) -> Path:
    path.write_bytes(cv2.imencode(path.suffix, picture(number))[1].tobytes())
    return path


def frames_of(source: Source) -> Iterator[Frame]:
    while source.state.kind == "playing":
        frame = source.read(timeout=10)
        if frame is not None:
            yield frame


def numbers_in(named: Path | str) -> Sequence[int]:
    with open_source(str(named)) as source:
        return [number_of(frame.image) for frame in frames_of(source)]


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    threads, handles = threading.active_count(), len(os.listdir("/proc/self/fd"))
    yield
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == handles


@pytest.mark.parametrize("suffix", [".mp4", ".avi"])
def test_a_video_gives_every_frame_in_order_with_its_own_time(tmp_path: Path, suffix: str) -> None:
    clip = write_video(tmp_path / f"clip{suffix}")
    with open_source(str(clip)) as source:
        assert (source.name, source.live, source.still) == (clip.name, False, False)
        assert source.fps == pytest.approx(20)
        frames = list(frames_of(source))
        assert source.read(timeout=0) is None
        assert (source.state.words, source.dropped) == ("ended", 0)
    assert [frame.index for frame in frames] == list(range(20))
    assert [number_of(frame.image) for frame in frames] == list(range(20))
    assert [frame.time for frame in frames] == pytest.approx([n / 20 for n in range(20)], abs=1e-3)


@pytest.mark.parametrize(
    "name",
    ["a ! b.avi", "100%.avi", "%03d.avi", "a01.avi", "x:y.avi", "http:.avi", "[a]*.avi", "ü.avi"],
)
def test_a_file_with_an_odd_name_is_read_like_any_other(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(tmp_path / "plain.avi").rename(tmp_path / name)
    write_video(tmp_path / "a02.avi", count=3)  # the next of a sequence, for who believes in one
    monkeypatch.chdir(tmp_path)
    assert numbers_in(name) == list(range(20))


def test_a_gif_keeps_its_varying_pace_and_draws_partial_frames_over_the_last(
    tmp_path: Path,
) -> None:
    """The writer stores only what changed: here a green square that moves over red."""
    frames = []
    for number in range(4):
        pixels = np.full((48, 64, 3), (255, 0, 0), dtype=np.uint8)
        pixels[10:20, 10 * number : 10 * number + 10] = (0, 255, 0)
        frames.append(PIL.Image.fromarray(pixels))
    delays = [40, 500, 100, 40]
    frames[0].save(tmp_path / "moves.gif", save_all=True, append_images=frames[1:], duration=delays)
    with open_source(str(tmp_path / "moves.gif")) as source:
        seen = list(frames_of(source))
        assert source.state.words == "ended"
    assert [frame.time for frame in seen] == pytest.approx([0, 0.04, 0.54, 0.64])
    for number, frame in enumerate(seen):
        green = frame.image[15, :, 1] > 128
        assert np.flatnonzero(green).tolist() == list(range(10 * number, 10 * number + 10))
        assert (frame.image[40] == (0, 0, 255)).all()


@needs_clips
@pytest.mark.parametrize(
    ("name", "count", "lasts"),
    [("yes.mkv", 65, 2.134), ("head-pose-face-detection-male.gif", 62, 5.08)],
)
def test_the_shared_clips_play_whole_and_as_long_as_they_last(
    name: str, count: int, lasts: float
) -> None:
    with open_source(str(CLIPS / name)) as source:
        frames = list(frames_of(source))
        assert source.state.words == "ended"
    assert len(frames) == count
    assert frames[-1].time == pytest.approx(lasts, abs=0.01)


def test_a_file_that_breaks_off_ends_with_what_it_had_and_says_so(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "whole.avi").read_bytes()
    torn = tmp_path / "torn.avi"
    torn.write_bytes(whole[: int(len(whole) * 0.7)])
    with open_source(str(torn)) as source:
        numbers = [number_of(frame.image) for frame in frames_of(source)]
        assert numbers == list(range(len(numbers)))
        assert 0 < len(numbers) < 15
        words = f"ended: the file breaks off after {len(numbers)} of about 20 frames"
        assert source.state.words == words


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "empty"), (b"no video at all\n" * 99, "not a video"), (b"\0" * 5000, "not a video")],
)
def test_a_file_that_is_no_video_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "clip.mp4").write_bytes(content)
    with pytest.raises(RankotomError, match=words):
        open_source(str(tmp_path / "clip.mp4"))


def test_a_video_cut_off_before_its_index_is_refused(tmp_path: Path) -> None:
    clip = write_video(tmp_path / "clip.mp4")
    clip.write_bytes(clip.read_bytes()[:-600])
    with pytest.raises(RankotomError, match="cut off"):
        open_source(str(clip))


def test_a_file_left_halfway_is_let_go(tmp_path: Path) -> None:
    with open_source(str(write_video(tmp_path / "clip.avi"))) as source:
        assert source.read(timeout=10) is not None
    assert source.state.kind == "ended"
    assert source.read(timeout=10) is None
    source.close()


def test_the_images_of_a_folder_come_in_the_order_one_counts(tmp_path: Path) -> None:
    for number in (10, 9, 2, 1):
        write_image(tmp_path / f"shot {number}.png", number)
    write_image(tmp_path / "Shot 3.JPG", 3)
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / "folder.png").mkdir()
    assert numbers_in(tmp_path) == [1, 2, 3, 9, 10]
    assert numbers_in(tmp_path / "shot *.png") == [1, 2, 9, 10]
    assert numbers_in(tmp_path / "shot 9.png") == [9]
    with open_source(str(tmp_path)) as source:
        assert (source.name, source.fps) == (f"{tmp_path.name}/", None)
        times = [frame.time for frame in frames_of(source)]
    assert times == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_images_deeper_down_are_found_by_a_double_star(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    write_image(tmp_path / "a" / "b" / "2.png", 2)
    assert numbers_in(tmp_path / "**" / "*.png") == [2]


def test_broken_images_are_passed_over_quietly_and_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    for name in ("2.png", "3.jpg"):
        whole = cv2.imencode(name[1:], noise)[1].tobytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    (tmp_path / "4.png").write_bytes(b"")
    (tmp_path / "5.png").write_text("a picture, they said")
    for number in (1, 6):
        write_image(tmp_path / f"{number}.png", number)
    with open_source(str(tmp_path)) as source:
        frames = list(frames_of(source))
        assert source.state.words == "ended: 4 of 6 images cannot be read"
    assert [number_of(frame.image) for frame in frames] == [1, 6]
    assert [frame.index for frame in frames] == [0, 5]
    assert [frame.time for frame in frames] == pytest.approx([0, 0.1])
    assert capfd.readouterr() == ("", "")


def test_a_damaged_frame_of_a_video_leaves_a_gap_in_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = count()

    def damaged_at_first_and_later(capture: cv2.VideoCapture) -> Image | None:
        image = picture_of(capture)
        return None if next(taken) in (0, 3, 4) else image

    monkeypatch.setattr(files, "picture_of", damaged_at_first_and_later)
    with open_source(str(write_video(tmp_path / "clip.avi", count=8))) as source:
        frames = list(frames_of(source))
    assert [frame.index for frame in frames] == [1, 2, 5, 6, 7]
    assert [number_of(frame.image) for frame in frames] == [1, 2, 5, 6, 7]


def test_a_video_without_a_whole_frame_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "picture_of", lambda capture: None)
    with pytest.raises(RankotomError, match="is not a video that OpenCV can read"):
        open_source(str(write_video(tmp_path / "clip.avi", count=8)))


def test_a_folder_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Injected: root, who runs these tests in CI, may read everything."""

    def forbidden(folder: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    monkeypatch.setattr(files.os, "listdir", forbidden)
    with pytest.raises(RankotomError, match=f"{tmp_path} cannot be read: Permission denied"):
        open_source(str(tmp_path))


def test_a_folder_where_no_image_can_be_read_is_refused(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"broken")
    with pytest.raises(RankotomError, match=r"None of the 3 images .* first is 0\.png"):
        open_source(str(tmp_path))


@pytest.mark.parametrize("pattern", ["", "*.png"])
def test_a_folder_or_glob_without_images_is_refused(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(RankotomError, match="no images"):
        open_source(str(tmp_path / pattern))


def test_grey_and_transparent_images_come_in_colour(tmp_path: Path) -> None:
    for name, channels in (("1.png", 1), ("2.png", 4)):
        cv2.imwrite(str(tmp_path / name), np.full((48, 64, channels), 160, np.uint8))
    with open_source(str(tmp_path)) as source:
        assert [frame.image.shape for frame in frames_of(source)] == [(48, 64, 3)] * 2


def test_numbers_in_names_are_counted_and_letters_sorted() -> None:
    names = ["b1", "a10", "a9", "A2", "a", "10", "9", "a9b"]
    ordered = sorted((Path(name) for name in names), key=natural_order)
    assert [str(path) for path in ordered] == ["9", "10", "a", "A2", "a9", "a9b", "a10", "b1"]


@pytest.mark.parametrize("stamp", [1.0, 0.5, 99.0, float("nan"), float("inf")])
def test_a_stamp_that_stands_still_runs_back_or_leaps_is_not_believed(stamp: float) -> None:
    assert step(before=1.0, stamp=stamp, interval=0.04) == 0.04
    assert step(before=1.0, stamp=1.5, interval=0.04) == 0.5


@pytest.mark.parametrize(
    ("read", "lasted", "announced", "torn"),
    [
        (65, 2.17, 66, False),  # yes.mkv: the header's count is an estimate
        (30, 1.0, 66, True),
        (300, 10.0, 10_000, True),
        (300, 400.0, 10_000, False),  # a browser's webm that claims 1000 fps, to its end
        (0, 0.0, 0, False),
        (50, 2.0, -1.8e14, False),  # what OpenCV says of a file without a length
    ],
)
def test_a_file_broke_off_if_frames_and_time_are_missing(
    read: int, lasted: float, announced: float, torn: bool
) -> None:
    assert breaks_off(read, lasted, announced, interval=1 / 30) is torn
