from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources import Source, open_source, video_file
from rankotom_edge.sources.opencv_capture import retrieve_image
from rankotom_edge.sources.video_file import is_cut_off, seconds_between

CLIPS = Path(__file__).parents[4] / "shared" / "data" / "clips"
needs_clips = pytest.mark.skipif(
    not CLIPS.exists(), reason=f"the clips {CLIPS} are not on this machine"
)
pytestmark = pytest.mark.usefixtures("nothing_leaks")


def picture(number: int) -> Image:
    """A grey that says its number, as far as lossy codecs keep it."""
    return np.full((48, 64, 3), 8 * number, dtype=np.uint8)


def number_of(image: Image) -> int:
    return round(float(image.mean()) / 8)


def frames_of(source: Source) -> Iterator[Frame]:
    while source.state.kind == "playing":
        frame = source.read(timeout=10)
        if frame is not None:
            yield frame


def numbers_in(named: Path | str) -> Sequence[int]:
    with open_source(str(named)) as source:
        return [number_of(frame.image) for frame in frames_of(source)]


def write_video(path: Path, count: int = 20, fps: float = 20) -> Path:
    codec = "mp4v" if path.suffix == ".mp4" else "MJPG"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, (64, 48))
    for number in range(count):
        writer.write(picture(number))
    writer.release()
    return path


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


def test_a_damaged_frame_of_a_video_leaves_a_gap_in_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = count()

    def damaged_at_first_and_later(capture: cv2.VideoCapture) -> Image | None:
        image = retrieve_image(capture)
        return None if next(taken) in (0, 3, 4) else image

    monkeypatch.setattr(video_file, "retrieve_image", damaged_at_first_and_later)
    with open_source(str(write_video(tmp_path / "clip.avi", count=8))) as source:
        frames = list(frames_of(source))
    assert [frame.index for frame in frames] == [1, 2, 5, 6, 7]
    assert [number_of(frame.image) for frame in frames] == [1, 2, 5, 6, 7]


def test_a_video_without_a_whole_frame_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video_file, "retrieve_image", lambda capture: None)
    with pytest.raises(RankotomError, match="is not a video that OpenCV can read"):
        open_source(str(write_video(tmp_path / "clip.avi", count=8)))


@pytest.mark.parametrize("stamp", [1.0, 0.5, 99.0, float("nan"), float("inf")])
def test_a_stamp_that_stands_still_runs_back_or_leaps_is_not_believed(stamp: float) -> None:
    assert seconds_between(previous=1.0, stamp=stamp, interval=0.04) == 0.04
    assert seconds_between(previous=1.0, stamp=1.5, interval=0.04) == 0.5


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
    assert is_cut_off(read, lasted, announced, interval=1 / 30) is torn
