"""The machine around the program: its CPU, cameras, screen and data."""

from __future__ import annotations

import os
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.doctor.check import Finding, Trial
from rankotom_edge.model.machine import Target, this_machine

CPUINFO = Path("/proc/cpuinfo")
WITHOUT_A_CAMERA = "plug one in, or go without: rankotom-edge camera --source demo"


def cpu(_: str) -> Finding:
    try:
        described = CPUINFO.read_text(errors="replace")
    except OSError:
        return Finding(True, f"{os.cpu_count()} cores; what they can do is not told here")
    return Finding(
        True, f"{os.cpu_count()} cores, {int8_words(this_machine(), features(described))}"
    )


def features(cpuinfo: str) -> frozenset[str]:
    """x86 calls them flags, ARM Features."""
    for line in cpuinfo.splitlines():
        name, _, values = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(values.split())
    return frozenset()


def int8_words(machine: Target | None, has: frozenset[str]) -> str:
    if machine == "x86" and {"avx512_vnni", "avx_vnni"} & has:
        return "VNNI: INT8 takes less than half of FP32's time"
    if machine == "x86":
        return "no VNNI: INT8 is faster than FP32, but not as much as with it"
    if machine == "arm" and "asimddp" in has:
        return "dot product: INT8 can be faster than FP32; rankotom-edge bench tells"
    if machine == "arm":
        return "no dot product: INT8 is not worth it"
    return "of a kind for which no INT8 model was made: FP32 is the one"


def cameras(_: str) -> Finding | tuple[Trial, ...]:
    from rankotom_edge.sources import list_cameras

    found = list_cameras()
    if not found:
        return Finding(False, "none is here", WITHOUT_A_CAMERA)
    return tuple(
        Trial(f"camera {one.index}", f"{__name__}:camera", str(one.index), fix=WITHOUT_A_CAMERA)
        for one in found
    )


def camera(index: str) -> Finding:
    return source(index)


def source(named: str) -> Finding:
    """Opened, and one frame read."""
    from rankotom_edge.sources import open_source

    try:
        with open_source(named) as opened:
            frame = opened.read(10.0)
    except RankotomError as error:
        return Finding(False, str(error).splitlines()[0])
    if frame is None:
        return Finding(False, f"{opened.name} opens and gives no frame")
    height, width = frame.image.shape[:2]
    pace = "" if opened.fps is None else f" at {opened.fps:g} fps"
    return Finding(True, f"{opened.name}: a frame of {width} x {height}{pace}")


def screen(_: str) -> Finding:
    """A window is opened, and closed again: connecting alone does not load all that it needs."""
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


def data(_: str) -> Finding:
    from train.data.datasets import Split, data_folder, load_dataset

    folder = data_folder(None)
    splits: tuple[Split, ...] = ("train", "valid")
    counts = [f"{len(load_dataset('ferplus', folder, split)):,} {split}" for split in splits]
    return Finding(True, f"FERPlus in {folder}: {' and '.join(counts)}")
