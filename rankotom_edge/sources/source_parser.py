"""Parses ``--source``: which kind of source a name stands for."""

import glob
import os
import re
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

from calib.errors import RankotomError, printable
from rankotom_edge.sources.passwords import hide_password

Kind = Literal["demo", "camera", "csi", "pipeline", "stream", "video", "images"]

STREAMS = ("rtsp", "rtsps", "http", "https", "udp")
NUMBER = "[0-9]{1,18}"  # also a number too large for any camera: an absent camera, not a file
# Around "!" blanks may be missing; then every part must look like an element or caps, since
# "hello!.mp4" is a file.
ELEMENT = r"[A-Za-z]\w*(\s.*)?"
ELEMENT_OR_CAPS = rf'{ELEMENT}|"?\w+/x-.*'
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")

WHAT_TO_GIVE = (
    "Give a camera (0, /dev/video0, csi://0), a video or GIF file, a folder or glob of images, "
    "rtsp://…, http://…, udp://…, a GStreamer pipeline, or demo."
)


@dataclass(frozen=True)
class SourceSpec:
    kind: Kind
    target: str  # the camera's number, the absolute path, the URL or the pipeline
    name: str  # for the screen: no password, no long path


def parse_source(text: str) -> SourceSpec:
    spec = _parse(text)
    # OpenCV crashes on other names; Python reads images itself.
    if spec.kind != "images" and not _is_utf8(spec.target):
        raise RankotomError(f"The name {printable(text)} is not UTF-8 text. Rename the file.")
    return replace(spec, name=printable(spec.name))


def _is_utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _parse(text: str) -> SourceSpec:
    """A bare number is always a camera and ``demo`` the demo (files are ``./0`` and ``./demo``).
    After these, an existing path wins, even if it looks like a pipeline, a URL or a glob."""
    given = text.strip()
    if given == "demo":
        return SourceSpec("demo", given, "demo: a still portrait")
    if re.fullmatch(NUMBER, given):
        return _camera(int(given))
    if given.startswith("file://"):
        return _path(given, url2pathname(urlsplit(given).path))
    path = os.path.expanduser(text)
    if os.path.exists(path):
        return _path(text, path)
    return _device(given) or _url(given) or _pipeline(given) or _glob(given) or _no_source(given)


def _camera(number: int) -> SourceSpec:
    return SourceSpec("camera", str(number), f"camera {number}")


def _path(given: str, path: str) -> SourceSpec:
    if not os.path.exists(path):
        _no_source(given)
    absolute = os.path.abspath(path)
    mode = os.stat(absolute).st_mode
    if stat.S_ISCHR(mode):
        # /dev/v4l/by-id/… are links to the numbered ones.
        return _device(os.path.realpath(absolute)) or _no_camera(given)
    name = os.path.basename(absolute)
    if stat.S_ISDIR(mode):
        return SourceSpec("images", absolute, f"{name}{os.sep}")
    if not stat.S_ISREG(mode):
        raise RankotomError(f"{given} is neither a file nor a folder. {WHAT_TO_GIVE}")
    is_image = Path(absolute).suffix.lower() in IMAGE_SUFFIXES
    return SourceSpec("images" if is_image else "video", absolute, name)


def _device(given: str) -> SourceSpec | None:
    number = re.fullmatch(f"/dev/video({NUMBER})", given)
    return _camera(int(number[1])) if number else None


def _url(given: str) -> SourceSpec | None:
    scheme, separator, rest = given.partition("://")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return None
    scheme = scheme.lower()
    if scheme == "csi":
        if not re.fullmatch(r"[0-9]{1,2}", rest):
            raise RankotomError(f"{given} names no CSI camera. Give its number: csi://0")
        return SourceSpec("csi", rest, f"CSI camera {int(rest)}")
    if scheme not in STREAMS:
        raise RankotomError(
            f"{hide_password(given)} starts with {scheme}://, which is not supported. "
            f"{WHAT_TO_GIVE}"
        )
    return SourceSpec("stream", given, hide_password(given))


def _pipeline(given: str) -> SourceSpec | None:
    first, *others = (part.strip() for part in given.split("!"))
    all_elements = re.fullmatch(ELEMENT, first, re.DOTALL) and all(
        re.fullmatch(ELEMENT_OR_CAPS, part, re.DOTALL) for part in others
    )
    if not re.search(r"\s!\s", given) and not (others and all_elements):
        return None
    return SourceSpec("pipeline", given, f"pipeline {''.join(first.split()[:1])}")


def _glob(given: str) -> SourceSpec | None:
    if not glob.has_magic(given):
        return None
    return SourceSpec("images", os.path.abspath(os.path.expanduser(given)), given)


def _no_camera(given: str) -> NoReturn:
    raise RankotomError(f"{given} is a device, but not a camera. {WHAT_TO_GIVE}")


def _no_source(given: str) -> NoReturn:
    raise RankotomError(
        f"There is no source {given!r}: no such file or folder, and no other kind of source. "
        f"{WHAT_TO_GIVE}"
    )
