"""The cameras of this machine, and why one of them does not open."""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.sources.capture import open_camera, quieten, released

SYSFS = Path("/sys/class/video4linux")
DEV = Path("/dev")
PROBED = range(4)  # where the system keeps no list of its cameras

# From linux/videodev2.h.
VIDIOC_QUERYCAP, VIDIOC_REQBUFS = 0x80685600, 0xC0145608
CAPABILITY = struct.Struct("16s32s32s6I")  # driver, card, bus, version, all, this node's, reserved
BUFFERS = struct.Struct("5I")  # count, type, memory, capabilities, flags
CAPTURE = 0x1 | 0x1000  # into one plane or several
MEMORY_TO_MEMORY = 0x4000 | 0x8000  # codecs and scalers, which call themselves video devices too
TO_CAPTURE, MAPPED = 1, 1


@dataclass(frozen=True)
class Camera:
    index: int
    path: str | None  # None where the system numbers its cameras only
    name: str

    def __str__(self) -> str:
        return f"{self.index} ({self.name}{f', {self.path}' if self.path else ''})"


def captures(node: Path) -> bool | None:
    """Whether pictures come out of a device, by its own word; None where it does not say."""
    if sys.platform != "linux":
        return None
    import fcntl

    answer = bytearray(CAPABILITY.size)
    try:
        descriptor = os.open(node, os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.ioctl(descriptor, VIDIOC_QUERYCAP, answer)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    abilities = CAPABILITY.unpack(answer)[5]
    return bool(abilities & CAPTURE) and not abilities & MEMORY_TO_MEMORY


def list_cameras(
    sysfs: Path = SYSFS, dev: Path = DEV, captures: Callable[[Path], bool | None] = captures
) -> tuple[Camera, ...]:
    """By number. Most webcams have a second node, for metadata; it is no camera."""
    if sys.platform != "linux":
        return _probed()
    found = []
    for entry in sysfs.glob("video*"):
        numbered = re.fullmatch(r"video([0-9]+)", entry.name)
        node = dev / entry.name
        if numbered is None or not node.exists():
            continue
        said = captures(node)
        # Where the device may not be asked: a webcam's first node is its picture.
        if said or (said is None and _attribute(entry, "index") in ("", "0")):
            name = _attribute(entry, "name") or "unnamed"
            found.append(Camera(int(numbered[1]), str(node), name))
    return tuple(sorted(found, key=lambda camera: camera.index))


def refusal(node: Path) -> int | None:
    """The errno with which the system refuses a camera; None when it does not."""
    try:
        descriptor = os.open(node, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        return error.errno
    try:
        return _queue_refusal(descriptor)
    finally:
        os.close(descriptor)


def camera_error(
    index: int, refused: int | None, cameras: Sequence[Camera], node: str | None
) -> RankotomError:
    """``refused``: what ``refusal`` says of its ``node``; no node: there is no such file here."""
    others = ", ".join(str(camera) for camera in cameras) or "none"
    return RankotomError(
        f"Camera {index} {_reason(refused, node)}\n"
        f"Cameras found: {others}. To go on without one: --source demo"
    )


def explain(index: int) -> RankotomError:
    """Why camera ``index`` of this machine did not open."""
    if sys.platform != "linux":
        return camera_error(index, None, list_cameras(), None)
    node = DEV / f"video{index}"
    return camera_error(index, refusal(node), list_cameras(), str(node))


def _reason(refused: int | None, node: str | None) -> str:
    if node is None:
        return (
            "gives no picture: it is absent, in use by another program, or forbidden to this one "
            "(see the system's privacy settings)."
        )
    if refused == errno.ENOENT:
        return f"is absent: there is no {node}. Is it plugged in?"
    if refused in (errno.ENODEV, errno.ENXIO):
        return f"is absent: {node} is there, and no device behind it. Is it plugged in?"
    if refused in (errno.EACCES, errno.EPERM):
        return (
            f"is forbidden: you may not open {node}. Join the group video (sudo usermod -aG video "
            "$USER, then log in again), or pass it into the container (--device)."
        )
    if refused == errno.EBUSY:
        return f"is busy: another program uses {node}. Close that program first."
    if refused is not None:
        return f"does not open: {node}: {os.strerror(refused)}."
    return f"opens but gives no picture: {node} may be no camera, or one that OpenCV cannot read."


def _queue_refusal(descriptor: int) -> int | None:
    """Several programs may open a camera, but only one may have its queue: to ask for a queue of
    nothing tells whether it is free (EBUSY), and takes nothing from anyone."""
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        fcntl.ioctl(descriptor, VIDIOC_REQBUFS, BUFFERS.pack(0, TO_CAPTURE, MAPPED, 0, 0))
    except OSError as error:
        return errno.EBUSY if error.errno == errno.EBUSY else None
    return None


def _attribute(entry: Path, name: str) -> str:
    try:
        return (entry / name).read_text(errors="replace").strip()
    except OSError:
        return ""


def _probed() -> tuple[Camera, ...]:
    quieten()
    found = []
    for index in PROBED:
        with released(open_camera(index)) as capture:
            if capture.isOpened():
                found.append(Camera(index, None, "camera"))
    return tuple(found)
