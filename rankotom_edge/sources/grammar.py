"""The one grammar of ``--source``: what a name stands for."""

from __future__ import annotations

import glob
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

from calib.errors import RankotomError

Kind = Literal["demo", "camera", "csi", "pipeline", "stream", "video", "images"]

STREAMS = ("rtsp", "rtsps", "http", "https", "udp")
NUMBER = "[0-9]{1,18}"  # also one that no camera has: it is absent, and no file
# A pipeline may do without blanks; then each part must look like one: "hello!.mp4" is a file.
ELEMENT = r"[A-Za-z]\w*(\s.*)?"
ELEMENT_OR_CAPS = rf'{ELEMENT}|"?\w+/x-.*'
SECRET = r"(?i)((?:user|usr|login|pass|pwd?|token|key|auth)[\w-]*)"
IN_URL = rf"{SECRET}=[^&/;\s]*"
# GStreamer's properties, among them rtspsrc's user-id, user-pw and proxy-pw.
IN_PIPELINE = rf"""{SECRET}\s*=\s*("(?:\\.|[^"\\])*"|'[^']*'|\S*)"""
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")

WHAT_TO_GIVE = (
    "Give a camera (0, /dev/video0, csi://0), a video or GIF file, a folder or glob of images, "
    "rtsp://…, http://…, udp://…, a GStreamer pipeline, or demo."
)


@dataclass(frozen=True)
class Named:
    kind: Kind
    target: str  # the camera's number, the absolute path, the URL or the pipeline
    name: str  # for the screen: no password, no long path


def parse(named: str) -> Named:
    """What ``named`` stands for. A bare number is a camera and ``demo`` the demo, whatever lies in
    the folder (``./0`` and ``./demo`` are files); of all else an existing path is that path, though
    it may look like a pipeline, a URL or a pattern."""
    given = named.strip()
    if given == "demo":
        return Named("demo", given, "demo: a still portrait")
    if re.fullmatch(NUMBER, given):
        return _camera(int(given))
    if given.startswith("file://"):
        return _path(given, url2pathname(urlsplit(given).path))
    path = os.path.expanduser(named)
    if os.path.exists(path):
        return _path(named, path)
    return _device(given) or _url(given) or _pipeline(given) or _pattern(given) or _nothing(given)


def _camera(number: int) -> Named:
    return Named("camera", str(number), f"camera {number}")


def _path(given: str, path: str) -> Named:
    if not os.path.exists(path):
        _nothing(given)
    absolute = os.path.abspath(path)
    mode = os.stat(absolute).st_mode
    if stat.S_ISCHR(mode):
        # /dev/v4l/by-id/… are links to the numbered ones.
        return _device(os.path.realpath(absolute)) or _no_camera(given)
    name = os.path.basename(absolute)
    if stat.S_ISDIR(mode):
        return Named("images", absolute, f"{name}{os.sep}")
    if not stat.S_ISREG(mode):
        raise RankotomError(f"{given} is neither a file nor a folder. {WHAT_TO_GIVE}")
    still = Path(absolute).suffix.lower() in IMAGE_SUFFIXES
    return Named("images" if still else "video", absolute, name)


def _device(given: str) -> Named | None:
    numbered = re.fullmatch(f"/dev/video({NUMBER})", given)
    return _camera(int(numbered[1])) if numbered else None


def _url(given: str) -> Named | None:
    scheme, found, rest = given.partition("://")
    if not found or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return None
    scheme = scheme.lower()
    if scheme == "csi":
        if not re.fullmatch(r"[0-9]{1,2}", rest):
            raise RankotomError(f"{given} names no CSI camera. Give its number: csi://0")
        return Named("csi", rest, f"CSI camera {int(rest)}")
    if scheme not in STREAMS:
        raise RankotomError(
            f"{without_password(given)} starts with {scheme}://, which is not read here. "
            f"{WHAT_TO_GIVE}"
        )
    return Named("stream", given, without_password(given))


def _pipeline(given: str) -> Named | None:
    first, *others = (part.strip() for part in given.split("!"))
    looks_like_one = re.fullmatch(ELEMENT, first, re.DOTALL) and all(
        re.fullmatch(ELEMENT_OR_CAPS, part, re.DOTALL) for part in others
    )
    if not re.search(r"\s!\s", given) and not (others and looks_like_one):
        return None
    return Named("pipeline", given, f"pipeline {''.join(first.split()[:1])}")


def _pattern(given: str) -> Named | None:
    if not glob.has_magic(given):
        return None
    return Named("images", os.path.abspath(os.path.expanduser(given)), given)


def _no_camera(given: str) -> NoReturn:
    raise RankotomError(f"{given} is a device, but not a camera. {WHAT_TO_GIVE}")


def _nothing(given: str) -> NoReturn:
    raise RankotomError(
        f"There is no source {given!r}: no such file or folder, and it reads as nothing else. "
        f"{WHAT_TO_GIVE}"
    )


def without_password(url: str) -> str:
    """A URL or pipeline as it may be shown and recorded: cameras carry user:password@ in theirs, or
    ?user=…&pwd=…, or the same in the path."""
    if " ! " in url:
        return re.sub(IN_PIPELINE, r"\1=…", re.sub(r"(?<=://)[^\s!]+@", "", url))
    shown = re.sub(r"(?<=://)[^/?#]+@", "", url).partition("?")[0].partition("#")[0]
    return re.sub(IN_URL, r"\1=…", shown)
