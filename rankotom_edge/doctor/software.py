"""Probes of the software: Python, the packages and OpenCV against what the project requires."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from calib.errors import RankotomError
from rankotom_edge.doctor.check import Finding
from rankotom_edge.system_libraries import LIBRARIES, install_command, missing_libraries

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PROJECT = "rankotom-edge"
# Debian's and JetPack's cv2, built with GStreamer.
SYSTEM_CV2 = Path("/usr/lib/python3/dist-packages/cv2")


def python(_: str) -> Finding:
    from packaging.specifiers import SpecifierSet

    here, wanted = platform.python_version(), _project().metadata["Requires-Python"]
    if SpecifierSet(wanted).contains(here, prereleases=True):
        return Finding(True, f"{here}, {platform.machine()}")
    return Finding(
        False,
        f"{here}, and {PROJECT} needs {wanted}",
        "python3.11 -m venv .venv && .venv/bin/pip install -c constraints.txt .",
    )


def packages(extra: str) -> Finding:
    """Of the live app, or of an extra; OpenCV has a probe of its own."""
    wanted = [
        requirement
        for requirement in requirements(extra)
        if not requirement.name.startswith("opencv")
    ]
    named = f"{PROJECT}[{extra}]" if extra else PROJECT
    here = {requirement.name: _version(requirement.name) for requirement in wanted}
    wrong = [requirement for requirement in wanted if not _is_met(requirement, here)]
    if not wrong:
        return Finding(True, ", ".join(f"{name} {version}" for name, version in here.items()))
    words = [
        f"{requirement.name} {here[requirement.name] or 'is missing'}"
        f" (wanted: {requirement.specifier})"
        for requirement in wrong
    ]
    commands = " ".join(f"'{requirement.name}{requirement.specifier}'" for requirement in wrong)
    missing = all(version is None for version in here.values())
    fix = f"pip install '{named}'" if extra and missing else f"pip install {commands}"
    return Finding(False, ", ".join(words), fix)


def libraries(_: str) -> Finding:
    """Of the system; the import of OpenCV or MediaPipe would name the first that is missing."""
    missing = missing_libraries()
    if missing:
        return Finding(False, f"missing: {', '.join(missing)}", install_command(missing))
    return Finding(True, ", ".join(LIBRARIES))


def opencv(_: str) -> Finding:
    import cv2

    from rankotom_edge.sources.opencv_capture import has_gstreamer

    wheels = sorted(set(metadata.packages_distributions().get("cv2", ())))
    wanted = next(one for one in requirements("") if one.name.startswith("opencv"))
    install = f"pip install '{wanted.name}{wanted.specifier}'"
    if len(wheels) > 1:
        return Finding(
            False,
            f"{' and '.join(wheels)} overwrite each other's cv2; which one loads is up to chance",
            f"pip uninstall -y {' '.join(wheels)} && {install}",
        )
    missing = [
        name for name in ("imdecode", "VideoCapture", "warpAffine") if not hasattr(cv2, name)
    ]
    if missing:
        return Finding(False, f"cv2 has no {', '.join(missing)}: it is damaged", install)
    origin = wheels[0] if wheels else f"not from pip: {Path(cv2.__file__).parent}"
    details = f"{cv2.__version__} ({origin}), {'with' if has_gstreamer() else 'no'} GStreamer"
    if not wanted.specifier.contains(_release(cv2.__version__)) and wheels:
        return Finding(False, f"{details}; wanted: {wanted.specifier}", install)
    return Finding(True, details)


def gstreamer(_: str) -> Finding:
    from rankotom_edge.sources.opencv_capture import has_gstreamer

    if has_gstreamer():
        return Finding(True, "in this OpenCV: csi:// and pipelines work")
    words = "not in this OpenCV (PyPI's never has it); only csi:// and pipelines need it"
    if not SYSTEM_CV2.exists():
        return Finding(False, words, "on a Jetson, JetPack's own: see docs/jetson.md")
    wheels = " ".join(sorted(set(metadata.packages_distributions().get("cv2", ()))))
    return Finding(
        False, f"{words}; it hides the system's own in {SYSTEM_CV2}", f"pip uninstall {wheels}"
    )


def requirements(extra: str) -> list[Requirement]:
    """The project's requirements: of the live app, or what ``extra`` adds to them."""
    from packaging.requirements import Requirement

    every = [Requirement(line) for line in _project().requires or ()]
    return [one for one in every if _belongs_to(one, extra)]


def recorded_hash(path: Path) -> str | None:
    """The SHA-256 that pip recorded when it installed a file; None if it recorded none, as in a
    development install."""
    import base64

    for file in _project().files or ():
        if file.hash is not None and file.hash.mode == "sha256" and path == file.locate():
            digest = file.hash.value + "=" * (-len(file.hash.value) % 4)
            return base64.urlsafe_b64decode(digest).hex()
    return None


def _belongs_to(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    if marker is None:
        return not extra
    alone = marker.evaluate({"extra": ""})
    return alone if not extra else marker.evaluate({"extra": extra}) and not alone


def _is_met(requirement: Requirement, here: dict[str, str | None]) -> bool:
    version = here[requirement.name]
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _project() -> metadata.Distribution:
    try:
        return metadata.distribution(PROJECT)
    except metadata.PackageNotFoundError as error:
        raise RankotomError(f"{PROJECT} runs from a folder; it is not installed") from error


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _release(version: str) -> str:
    """OpenCV's own builds have versions such as 4.8.0-dev."""
    return ".".join(re.findall(r"\d+", version)[:3])
