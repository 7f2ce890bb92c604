"""Pictures are measured before they are decoded."""

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.pictures import BYTES, PIXELS, read_picture, shrink_to
from rankotom_edge.sources.image_files import ImageFiles


def png(path: Path, width: int, height: int, content: bytes = b"") -> Path:
    """That claims this size."""
    claimed = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", claimed), (b"IDAT", zlib.compress(content)), (b"IEND", b""))
    packed = b"".join(
        struct.pack(f">I4s{len(inside)}sI", len(inside), kind, inside, zlib.crc32(kind + inside))
        for kind, inside in chunks
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + packed)
    return path


def jpeg(path: Path, width: int, height: int) -> Path:
    content = cv2.imencode(".jpg", np.zeros((16, 16, 3), np.uint8))[1].tobytes()
    place = content.index(b"\xff\xc0") + 5
    path.write_bytes(content[:place] + struct.pack(">HH", height, width) + content[place + 4 :])
    return path


@pytest.mark.parametrize("make", [png, jpeg])
def test_a_picture_that_claims_gigabytes_is_refused_with_what_would_read_it(
    tmp_path: Path, make: type
) -> None:
    path = make(tmp_path / "x.png", 30_000, 30_000)  # type: ignore[call-arg]
    with pytest.raises(RankotomError, match=r"30,000 x 30,000 pixels.*RANKOTOM_MAX_PIXELS=9"):
        read_picture(path)


@pytest.mark.parametrize(("width", "height"), [(32_767, 1), (1, 32_767), (40_000, 2)])
def test_a_side_that_would_end_the_process_is_refused_whatever_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    path = png(tmp_path / "x.png", width, height, bytes((width + 1) * height))
    monkeypatch.setenv(PIXELS, "1e12")
    with pytest.raises(RankotomError, match="a side at most 32,766"):
        read_picture(path)


def test_nobody_is_told_to_raise_a_limit_that_would_not_help(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"60,000 x 60,000 pixels, and a side at most 32,766$"):
        read_picture(png(tmp_path / "x.png", 60_000, 60_000))


def test_the_longest_side_and_a_large_picture_are_read(tmp_path: Path) -> None:
    assert read_picture(png(tmp_path / "x.png", 32_766, 1, bytes(32_767))).shape == (1, 32_766, 3)
    noise = np.random.default_rng(0).integers(0, 256, (3000, 3500), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / "noise.png"), noise)  # holds the bytes of a JPEG's scans by chance
    assert read_picture(tmp_path / "noise.png").shape == (3000, 3500, 3)


def test_bytes_after_the_end_of_a_png_are_no_damage(tmp_path: Path) -> None:
    path = png(tmp_path / "x.png", 1, 1, bytes(2))
    path.write_bytes(path.read_bytes() + bytes(1000))
    assert read_picture(path).shape == (1, 1, 3)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (PIXELS, "9999", "at most 9,999"),
        (PIXELS, "nan", "not a number"),
        (BYTES, "20", "at most 20"),
    ],
)
def test_the_limits_can_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    path = png(tmp_path / "x.png", 100, 100, bytes(101 * 100))
    assert read_picture(path).shape == (100, 100, 3)
    monkeypatch.setenv(name, value)
    with pytest.raises(RankotomError, match=words):
        read_picture(path)


def test_a_jpeg_of_thousands_of_scans_is_refused(tmp_path: Path) -> None:
    path = jpeg(tmp_path / "x.jpg", 16, 16)
    path.write_bytes(path.read_bytes() + b"\xff\xda" * 1000)
    with pytest.raises(RankotomError, match="damaged"):
        read_picture(path)


@pytest.mark.parametrize("content", [b"", b"\x89PNG", b"GIF89a", b"BM", b"P6\n-1 1\n", bytes(100)])
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(RankotomError, match=r"x\.png cannot be read"):
        read_picture(tmp_path / "x.png")


def test_one_bad_picture_of_a_folder_is_passed_over_with_a_remark(tmp_path: Path) -> None:
    png(tmp_path / "1.png", 40_000, 40_000)
    png(tmp_path / "2.png", 4, 4, bytes(20))
    (tmp_path / os.fsdecode(b"3\xff.png")).write_bytes((tmp_path / "2.png").read_bytes())
    clip = ImageFiles(str(tmp_path), "folder")
    assert [each.image.shape for each in clip.images()] == [(4, 4, 3)] * 2
    assert clip.remark is not None
    assert clip.remark.startswith("1 of 3 images cannot be read (1.png")


def test_a_picture_is_shrunk_to_its_longest_side() -> None:
    small, share = shrink_to(np.zeros((100, 400, 3), np.uint8), 40)
    assert (small.shape, share) == ((10, 40, 3), 0.1)
    assert shrink_to(small, 40)[1] == 1


def test_a_program_that_imports_this_one_keeps_pillows_limit(tmp_path: Path) -> None:
    code = (
        "import PIL.Image; before = PIL.Image.MAX_IMAGE_PIXELS\n"
        "import rankotom_edge.pictures\n"
        "assert PIL.Image.MAX_IMAGE_PIXELS == before is not None\n"
        f"PIL.Image.open({str(png(tmp_path / 'x.png', 10_000, 10_000))!r})"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "DecompressionBombWarning" in said.stderr


@pytest.mark.parametrize("content", [b"", b"P", b"BM", b"\x89PNG", b"II*\0", b"RIFF\0\0\0\0WEBP"])
def test_the_start_of_a_picture_is_a_damaged_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(RankotomError, match="it is damaged, or none of BMP"):
        read_picture(tmp_path / "x.png")
