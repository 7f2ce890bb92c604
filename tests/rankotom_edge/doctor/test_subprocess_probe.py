from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rankotom_edge.doctor.check import Check, Probe
from rankotom_edge.doctor.subprocess_probe import explain_crash, run_here, run_probe, run_probes


def check_of(function: str, argument: str = "", timeout: float = 60.0) -> Check:
    found = run_probe(Probe("tried", function, argument, fix="mend it"), timeout)
    assert isinstance(found, Check)
    return found


def test_a_camera_that_never_answers_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "video9")
    started = time.monotonic()
    check = check_of("builtins:open", str(tmp_path / "video9"), timeout=3)
    assert time.monotonic() - started < 30
    assert (check.ok, check.detail, check.fix) == (False, "no answer in 3 s", "mend it")
    assert check.ms == pytest.approx(3000)


def test_a_probe_that_aborts_takes_down_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    check = check_of("cv2:namedWindow", "no screen")
    assert not check.ok
    assert check.detail.startswith("crashed (SIGABRT)")


def test_a_missing_module_is_named() -> None:
    check = check_of("rankotom_edge.no_such_thing:check")
    assert check.detail == "ModuleNotFoundError: No module named 'rankotom_edge.no_such_thing'"


def test_a_missing_library_comes_with_its_package() -> None:
    errors = "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"
    assert explain_crash(1, errors).fix == "sudo apt-get install libgl1"
    assert explain_crash(1, "ImportError: libodd.so.3: cannot open shared object file").fix is None


def test_an_opencv_that_was_built_for_numpy_1_is_known_by_its_words() -> None:
    """JetPack 6's, as OpenCV 4.8.1 said it under numpy 2.4."""
    errors = "  import numpy.core.multiarray\nImportError: numpy.core.multiarray failed to import\n"
    assert explain_crash(1, errors).fix == "pip install 'numpy<2'"


def test_probes_that_return_others_are_expanded() -> None:
    asked: list[str] = []
    probe = Probe("onnxruntime", "rankotom_edge.doctor.face_reading:providers")
    checks = list(run_probes([probe], on_start=asked.append))
    assert checks[0].name == asked[1] == "onnxruntime cpu"
    assert checks[0].ok
    assert checks[0].level == "needed"
    assert checks[0].detail.startswith("ferplus-fp32 in ")


def test_an_error_for_the_user_is_a_finding_on_one_line() -> None:
    answer = run_here("rankotom_edge.sources:open_source", "/dev/video63")
    finding = answer["finding"]
    assert isinstance(finding, dict)
    assert finding["ok"] is False
    assert finding["detail"].startswith("Camera 63 is absent")
    assert "\n" not in finding["detail"]
