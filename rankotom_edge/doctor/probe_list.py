"""Every probe of the doctor, by section and in the order of the report."""

from rankotom_edge.doctor.check import ONNX_RUNTIME, Probe

FACE_READING = "rankotom_edge.doctor.face_reading"
HARDWARE = "rankotom_edge.doctor.hardware"
SOFTWARE = "rankotom_edge.doctor.software"

INSTALL = "pip install -c constraints.txt ."
MEDIAPIPE = "pip install --force-reinstall mediapipe==0.10.14"
OPENCV = "pip install --force-reinstall 'opencv-contrib-python>=4.10,<5'"
SCREEN = "sudo apt-get install libgl1 libsm6; or: rankotom-edge camera --view terminal"
TENSORRT = "see docs/jetson.md; the CPU reads faces without it"

PROBES: dict[str, tuple[Probe, ...]] = {
    "Reading faces": (
        Probe("demo", f"{FACE_READING}:demo", level="needed", fix=INSTALL),
        Probe("system libraries", f"{SOFTWARE}:libraries"),
        Probe("mediapipe", f"{FACE_READING}:detector", level="needed", fix=MEDIAPIPE),
        Probe("opencv", f"{SOFTWARE}:opencv", level="needed", fix=OPENCV),
        Probe("onnxruntime", f"{FACE_READING}:providers", level="needed", fix=ONNX_RUNTIME),
        Probe("models", f"{FACE_READING}:model_files", level="needed", fix=ONNX_RUNTIME),
    ),
    "This machine": (
        Probe("cpu", f"{HARDWARE}:cpu"),
        Probe("cameras", f"{HARDWARE}:cameras", fix=OPENCV),
        Probe("gstreamer", f"{SOFTWARE}:gstreamer", fix=OPENCV),
        Probe("screen", f"{HARDWARE}:screen", fix=SCREEN),
        Probe("tensorrt", f"{FACE_READING}:tensorrt", fix=TENSORRT),
    ),
    "Installed": (
        Probe("python", f"{SOFTWARE}:python", fix=INSTALL),
        Probe("packages", f"{SOFTWARE}:packages", fix=INSTALL),
        Probe("packages [web]", f"{SOFTWARE}:packages", "web", fix=INSTALL),
        Probe("packages [train]", f"{SOFTWARE}:packages", "train", fix=INSTALL),
    ),
}


def list_probes(source: str | None) -> dict[str, tuple[Probe, ...]]:
    """With a probe for ``source``, which is needed: the user wants to read faces from it."""
    if source is None:
        return PROBES
    fix = "check that it is on and free; without it: rankotom-edge camera --source demo"
    probe = Probe("source", f"{HARDWARE}:source", source, level="needed", fix=fix)
    return {"Your source": (probe,), **PROBES}
