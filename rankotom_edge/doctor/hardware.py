"""Probes of the hardware: the CPU, cameras and screen."""

import os
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.doctor.check import Finding, Probe
from rankotom_edge.model.target import Target, this_machine

CPUINFO = Path("/proc/cpuinfo")
NO_CAMERA = "plug one in, or go without: rankotom-edge camera --source demo"


def cpu(_: str) -> Finding:
    try:
        described = CPUINFO.read_text(errors="replace")
    except OSError:
        return Finding(True, f"{os.cpu_count()} cores; this system does not list their features")
    return Finding(
        True, f"{os.cpu_count()} cores, {int8_words(this_machine(), features(described))}"
    )


def features(cpuinfo: str) -> frozenset[str]:
    """The line is called flags on x86, Features on ARM."""
    for line in cpuinfo.splitlines():
        name, _, values = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(values.split())
    return frozenset()


def int8_words(machine: Target | None, has: frozenset[str]) -> str:
    if machine == "x86" and {"avx512_vnni", "avx_vnni"} & has:
        return "VNNI: INT8 is much faster than FP32; rankotom-edge bench measures it"
    if machine == "x86":
        return "no VNNI: INT8 is only somewhat faster than FP32"
    if machine == "arm" and "asimddp" in has:
        return "dot product: INT8 should be faster than FP32; rankotom-edge bench measures it"
    if machine == "arm":
        return "no dot product: INT8 may not be faster than FP32; rankotom-edge bench measures it"
    return "no INT8 model is made for this kind: use FP32"


def cameras(_: str) -> Finding | tuple[Probe, ...]:
    from rankotom_edge.sources import list_cameras

    found = list_cameras()
    if not found:
        return Finding(False, "none found", NO_CAMERA)
    return tuple(
        Probe(f"camera {one.index}", f"{__name__}:source", str(one.index), fix=NO_CAMERA)
        for one in found
    )


def source(name: str) -> Finding:
    """Open it and read a frame."""
    from rankotom_edge.sources import open_source

    try:
        with open_source(name) as opened:
            frame = opened.read(10.0)
    except RankotomError as error:
        return Finding(False, str(error).splitlines()[0])
    if frame is None:
        return Finding(False, f"{opened.name} opens but gives no frame")
    height, width = frame.image.shape[:2]
    pace = "" if opened.fps is None else f" at {opened.fps:g} fps"
    return Finding(True, f"{opened.name}: a frame of {width} x {height}{pace}")


def screen(_: str) -> Finding:
    """Open and close a window: connecting to the display alone does not load every library."""
    import cv2

    from rankotom_edge.views.window.view import screen_available

    display = os.environ.get("DISPLAY")
    elsewhere = "rankotom-edge camera --view terminal (or web, from a browser)"
    if not screen_available():
        named = f"DISPLAY={display} does not answer" if display else "none (DISPLAY is not set)"
        return Finding(False, named, elsewhere)
    cv2.namedWindow("rankotom-edge doctor", cv2.WINDOW_NORMAL)
    cv2.waitKey(1)
    cv2.destroyAllWindows()
    return Finding(True, f"a window opens{f' on {display}' if display else ''}")
