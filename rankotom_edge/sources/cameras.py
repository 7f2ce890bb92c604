"""Lists the cameras of this machine, and explains why one of them does not open."""

import errno
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.sources.opencv_capture import open_camera, releasing, silence_opencv

SYSFS = Path("/sys/class/video4linux")
DEV = Path("/dev")
PROBED = range(4)  # indexes to try where the system has no list of cameras

# From linux/videodev2.h.
VIDIOC_QUERYCAP, VIDIOC_REQBUFS = 0x80685600, 0xC0145608
CAPABILITY = struct.Struct("16s32s32s6I")  # driver, card, bus, version, all, this node's, reserved
BUFFERS = struct.Struct("5I")  # count, type, memory, capabilities, flags
CAPTURE = 0x1 | 0x1000  # into one plane or several
MEMORY_TO_MEMORY = 0x4000 | 0x8000  # codecs and scalers, which are video devices too
BUFFER_TYPE_CAPTURE, MEMORY_MAPPED = 1, 1


@dataclass(frozen=True)
class Camera:
    index: int
    path: str | None  # None where cameras have only a number
    name: str

    def __str__(self) -> str:
        return f"{self.index} ({self.name}{f', {self.path}' if self.path else ''})"


def can_capture(node: Path) -> bool | None:
    """Whether a video device delivers images; None if it does not answer."""
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
    capabilities = CAPABILITY.unpack(answer)[5]
    return bool(capabilities & CAPTURE) and not capabilities & MEMORY_TO_MEMORY


def list_cameras(
    sysfs: Path = SYSFS, dev: Path = DEV, can_capture: Callable[[Path], bool | None] = can_capture
) -> tuple[Camera, ...]:
    """By number, without the second node that most webcams have for metadata."""
    if sys.platform != "linux":
        return _probe_cameras()
    found = []
    for entry in sysfs.glob("video*"):
        number = re.fullmatch(r"video([0-9]+)", entry.name)
        node = dev / entry.name
        if number is None or not node.exists():
            continue
        captures = can_capture(node)
        # If the device does not answer: a webcam's first node delivers its images.
        if captures or (captures is None and _attribute(entry, "index") in ("", "0")):
            name = _attribute(entry, "name") or "unnamed"
            found.append(Camera(int(number[1]), str(node), name))
    return tuple(sorted(found, key=lambda camera: camera.index))


def open_errno(node: Path) -> int | None:
    """The errno with which the system refuses to open a camera; None if it does not refuse."""
    if sys.platform != "linux":
        return None
    try:
        descriptor = os.open(node, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        return error.errno
    try:
        return _busy_errno(descriptor)
    finally:
        os.close(descriptor)


def camera_error(
    index: int, refused: int | None, cameras: Sequence[Camera], node: str | None
) -> RankotomError:
    """``refused``: what ``open_errno`` returns for ``node``; ``node`` is None on systems where
    cameras are not files."""
    others = ", ".join(str(camera) for camera in cameras) or "none"
    return RankotomError(
        f"Camera {index} {_reason(refused, node)}\n"
        f"Cameras found: {others}. To go on without one: --source demo"
    )


def explain_failure(index: int) -> RankotomError:
    """Why camera ``index`` of this machine did not open."""
    if sys.platform != "linux":
        return camera_error(index, None, list_cameras(), None)
    node = DEV / f"video{index}"
    return camera_error(index, open_errno(node), list_cameras(), str(node))


def _reason(refused: int | None, node: str | None) -> str:
    if node is None:
        return (
            "gives no image: it is absent, in use by another program, or forbidden to this one "
            "(see the system's privacy settings)."
        )
    if refused == errno.ENOENT:
        return f"is absent: there is no {node}. Is it plugged in?"
    if refused in (errno.ENODEV, errno.ENXIO):
        return f"is absent: {node} exists, but no device is behind it. Is it plugged in?"
    if refused in (errno.EACCES, errno.EPERM):
        return (
            f"is forbidden: you may not open {node}. Join the group video (sudo usermod -aG video "
            "$USER, then log in again), or pass it into the container (--device)."
        )
    if refused == errno.EBUSY:
        return f"is busy: another program uses {node}. Close that program first."
    if refused is not None:
        return f"does not open: {node}: {os.strerror(refused)}."
    return f"opens but gives no image: {node} may be no camera, or one that OpenCV cannot read."


def _busy_errno(descriptor: int) -> int | None:
    """Several programs may open a camera, but only one may hold its buffers. Requesting zero
    buffers fails with EBUSY if another program holds them, and disturbs nobody."""
    if sys.platform != "linux":
        return None
    import fcntl

    request = BUFFERS.pack(0, BUFFER_TYPE_CAPTURE, MEMORY_MAPPED, 0, 0)
    try:
        fcntl.ioctl(descriptor, VIDIOC_REQBUFS, request)
    except OSError as error:
        return errno.EBUSY if error.errno == errno.EBUSY else None
    return None


def _attribute(entry: Path, name: str) -> str:
    try:
        return (entry / name).read_text(errors="replace").strip()
    except OSError:
        return ""


def _probe_cameras() -> tuple[Camera, ...]:
    silence_opencv()
    found = []
    for index in PROBED:
        with releasing(open_camera(index)) as capture:
            if capture.isOpened():
                found.append(Camera(index, None, "camera"))
    return tuple(found)
