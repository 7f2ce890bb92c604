from __future__ import annotations

from importlib import metadata

import pytest

from rankotom_edge.doctor.software import opencv, packages, requirements


def test_packages_are_compared_with_the_project_requirements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert packages("").ok
    version = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "0.10.35" if name == "mediapipe" else version(name)
    )
    found = packages("")
    assert found.detail == "mediapipe 0.10.35 (wanted: ==0.10.14)"
    assert found.fix == "pip install 'mediapipe==0.10.14'"


def test_an_extra_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing)
    assert {one.name for one in requirements("web")} >= {"starlette", "uvicorn"}
    assert packages("web").fix == "pip install 'rankotom-edge[web]'"


def test_a_second_cv2_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert opencv("").ok
    both = ["opencv-python", "opencv-contrib-python"]
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"cv2": both})
    found = opencv("")
    assert found.detail.startswith("opencv-contrib-python and opencv-python overwrite each other")
    assert (found.fix or "").startswith("pip uninstall -y opencv-contrib-python opencv-python && ")
