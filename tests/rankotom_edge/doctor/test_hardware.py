from __future__ import annotations

import pytest

from rankotom_edge import sources
from rankotom_edge.doctor.check import Check, Finding, Probe
from rankotom_edge.doctor.hardware import cameras, features, int8_words, source
from rankotom_edge.doctor.subprocess_probe import run_probe

VNNI = "processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni\n"
ORIN = "processor\t: 0\nFeatures\t: fp asimd asimddp\n"


def test_a_machine_without_cameras_is_reported_and_a_source_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "list_cameras", tuple)
    found = cameras("")
    assert isinstance(found, Finding)
    assert "--source demo" in (found.fix or "")
    assert source("demo").detail == "demo: a still portrait: a frame of 640 x 480 at 30 fps"
    gone = source("/dev/video63")
    assert not gone.ok
    assert "Camera 63" in gone.detail


def test_each_camera_is_tried_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = (sources.Camera(0, "/dev/video0", "front"), sources.Camera(2, "/dev/video2", "back"))
    monkeypatch.setattr(sources, "list_cameras", lambda: here)
    probes = cameras("")
    assert isinstance(probes, tuple)
    assert [(probe.name, probe.argument) for probe in probes] == [
        ("camera 0", "0"),
        ("camera 2", "2"),
    ]


@pytest.mark.parametrize("display", ["", ":987"])
def test_a_missing_screen_is_a_failed_check_and_no_crash(
    display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", display)
    check = run_probe(Probe("screen", "rankotom_edge.doctor.hardware:screen"), 60.0)
    assert isinstance(check, Check)
    assert check.detail == (
        f"DISPLAY={display} does not answer" if display else "none (DISPLAY is not set)"
    )
    assert "--view terminal" in (check.fix or "")


def test_vnni_and_dot_products_are_found_in_cpuinfo() -> None:
    assert int8_words("x86", features(VNNI)).startswith("VNNI: INT8 is much faster")
    assert "no VNNI" in int8_words("x86", features(ORIN))
    assert int8_words("arm", features(ORIN)).startswith("dot product")
    assert int8_words("arm", features(VNNI)).startswith("no dot product")
    assert features("nothing of the kind") == frozenset()
