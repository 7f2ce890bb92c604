from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources import Source, image_files, open_source
from rankotom_edge.sources.image_files import natural_order

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


def write_image(path: Path, number: int) -> Path:
    path.write_bytes(cv2.imencode(path.suffix, picture(number))[1].tobytes())
    return path


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


def test_a_folder_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Injected: root, who runs these tests in CI, may read everything."""

    def forbidden(folder: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    monkeypatch.setattr(image_files.os, "listdir", forbidden)
    with pytest.raises(RankotomError, match=f"{tmp_path} cannot be read: Permission denied"):
        open_source(str(tmp_path))


def test_a_folder_where_no_image_can_be_read_is_refused(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"broken")
    with pytest.raises(RankotomError, match=r"None of the 3 images .* 0\.png cannot be read"):
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
