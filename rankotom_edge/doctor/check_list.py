"""Everything that the doctor looks at, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping

from rankotom_edge.doctor.check import ONNX_RUNTIME, Trial

PACKAGE = "rankotom_edge.doctor"
INSTALL = "pip install -c constraints.txt ."
OPENCV = "pip install --force-reinstall 'opencv-contrib-python>=4.10,<5'"
TENSORRT = "see docs/jetson.md; the CPU reads faces without it"
DATA = "unpack FERPlus there, or name its folder: export RANKOTOM_DATA=DIR"

ROUNDS: Mapping[str, tuple[Trial, ...]] = {
    "Reading faces": (
        Trial("demo", f"{PACKAGE}.reading:demo", level="needed", fix=INSTALL),
        Trial(
            "mediapipe",
            f"{PACKAGE}.reading:detector",
            level="needed",
            fix="pip install --force-reinstall mediapipe==0.10.14",
        ),
        Trial("opencv", f"{PACKAGE}.software:opencv", level="needed", fix=OPENCV),
        Trial("onnxruntime", f"{PACKAGE}.reading:providers", level="needed", fix=ONNX_RUNTIME),
        Trial("models", f"{PACKAGE}.reading:model_files", level="needed", fix=ONNX_RUNTIME),
    ),
    "This machine": (
        Trial("cpu", f"{PACKAGE}.machine:cpu"),
        Trial("cameras", f"{PACKAGE}.machine:cameras", fix=OPENCV),
        Trial("gstreamer", f"{PACKAGE}.software:gstreamer", fix=OPENCV),
        Trial(
            "screen",
            f"{PACKAGE}.machine:screen",
            fix="sudo apt-get install libgl1 libsm6; or: rankotom-edge camera --view terminal",
        ),
        Trial("tensorrt", f"{PACKAGE}.reading:tensorrt", fix=TENSORRT),
    ),
    "Installed": (
        Trial("python", f"{PACKAGE}.software:python", fix=INSTALL),
        Trial("packages", f"{PACKAGE}.software:packages", fix=INSTALL),
        Trial("packages [web]", f"{PACKAGE}.software:packages", "web", fix=INSTALL),
        Trial("packages [train]", f"{PACKAGE}.software:packages", "train", fix=INSTALL),
    ),
    "Data, for evaluate, export and train": (
        Trial("ferplus", f"{PACKAGE}.machine:data", fix=DATA),
    ),
}


def rounds_with(source: str | None) -> Mapping[str, tuple[Trial, ...]]:
    """A source of the person's own is what the main job is to run on, so it is needed."""
    if source is None:
        return ROUNDS
    named = Trial(
        "source",
        f"{PACKAGE}.machine:source",
        source,
        level="needed",
        fix="see that it is on and free; without it: rankotom-edge camera --source demo",
    )
    return {"Your source": (named,), **ROUNDS}
