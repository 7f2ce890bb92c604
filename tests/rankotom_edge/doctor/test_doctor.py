"""The doctor's checks, each broken for real."""

from __future__ import annotations

import os
import shutil
import time
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import rankotom_edge.model.artifact
from rankotom_edge.doctor import Check, Finding, Trial, examine, healthy
from rankotom_edge.doctor.check_list import ROUNDS, rounds_with
from rankotom_edge.doctor.machine import cameras, features, int8_words, source
from rankotom_edge.doctor.software import packages, requirements
from rankotom_edge.doctor.subprocess_check import answer, attempt, crash
from rankotom_edge.model import embedded as models
from rankotom_edge.model.artifact import EMBEDDED

VNNI = "processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni\n"
ORIN = "processor\t: 0\nFeatures\t: fp asimd asimddp\n"


def tried(function: str, argument: str = "", seconds: float = 60.0) -> Check:
    found = attempt(Trial("tried", function, argument, fix="mend it"), seconds)
    assert isinstance(found, Check)
    return found


def test_a_camera_that_never_answers_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "video9")
    started = time.monotonic()
    check = tried("builtins:open", str(tmp_path / "video9"), seconds=3)
    assert time.monotonic() - started < 30
    assert (check.ok, check.detail, check.fix) == (False, "no answer in 3 s", "mend it")
    assert check.ms == pytest.approx(3000)


def test_what_aborts_takes_only_itself_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    check = tried("cv2:namedWindow", "no screen")
    assert not check.ok
    assert check.detail.startswith("crashed (SIGABRT)")


def test_a_missing_module_is_named() -> None:
    check = tried("rankotom_edge.no_such_thing:check")
    assert check.detail == "ModuleNotFoundError: No module named 'rankotom_edge.no_such_thing'"


def test_a_missing_library_comes_with_its_package() -> None:
    said = "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"
    assert crash(1, said).fix == "sudo apt-get install libgl1"
    assert crash(1, "ImportError: libodd.so.3: cannot open shared object file").fix is None


def test_an_opencv_that_was_built_for_numpy_1_is_known_by_its_words() -> None:
    """JetPack 6's, as OpenCV 4.8.1 said it under numpy 2.4."""
    said = "  import numpy.core.multiarray\nImportError: numpy.core.multiarray failed to import\n"
    assert crash(1, said).fix == "pip install 'numpy<2'"


def test_what_libraries_print_is_not_taken_for_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(
        "import os\nfrom rankotom_edge.doctor import Finding\n"
        "def check(argument):\n"
        "    os.write(1, b'noise')\n"
        "    return Finding(True, 'all is well')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert tried("loud:check").detail == "all is well"


def test_trials_that_call_for_others_are_expanded() -> None:
    asked: list[str] = []
    trial = Trial("onnxruntime", "rankotom_edge.doctor.face_reading:providers")
    checks = list(examine([trial], about_to=asked.append))
    assert checks[0].name == asked[1] == "onnxruntime cpu"
    assert checks[0].ok
    assert checks[0].level == "needed"
    assert checks[0].detail.startswith("ferplus-fp32 in ")


def test_only_what_is_needed_decides() -> None:
    fine = Check("demo", True, "", None, 1.0, "needed")
    absent = Check("screen", False, "", "plug one in", 1.0, "optional")
    broken = Check("models", False, "", "reinstall", 1.0, "needed")
    assert healthy([fine, absent])
    assert not healthy([fine, broken])


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the model files that may be broken."""
    from rankotom_edge.doctor import face_reading as reading

    folder = tmp_path / "rankotom_edge" / "models"
    shutil.copytree(EMBEDDED, folder)
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", folder)
    monkeypatch.setattr(reading, "EMBEDDED", folder)
    return folder


def test_the_model_files_are_well() -> None:
    from rankotom_edge.doctor.face_reading import model, model_files

    trials = model_files("")
    assert isinstance(trials, tuple)
    assert trials[0].argument == models.DEFAULT
    assert [trial.level for trial in trials] == ["needed", "optional", "optional"]
    found = [model(trial.argument) for trial in trials]
    assert all(one.ok for one in found), found
    assert "the default" in found[0].detail


def test_an_empty_models_folder_is_told_with_its_mending(embedded: Path) -> None:
    from rankotom_edge.doctor.face_reading import model_files

    for file in embedded.glob("*.onnx"):
        file.unlink()
    found = model_files("")
    assert isinstance(found, Finding)
    assert not found.ok
    assert found.detail.startswith(f"{models.DEFAULT} is not in ")
    assert found.detail.endswith("here: none")


@pytest.mark.parametrize("size", [0, 1000, 2_000_000])
def test_a_truncated_model_is_not_whole(embedded: Path, size: int) -> None:
    path = embedded / f"{models.DEFAULT}.onnx"
    os.truncate(path, size)
    told = answer("rankotom_edge.doctor.face_reading:model", models.DEFAULT)["finding"]
    assert isinstance(told, dict)
    assert told["ok"] is False
    assert "not a whole ONNX file" in told["detail"] or "not a model of ours" in told["detail"]


def test_a_default_that_is_made_for_another_machine_is_a_fault(
    embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rankotom_edge.doctor.face_reading import model
    from rankotom_edge.model import target

    monkeypatch.setattr(models, "DEFAULT", models.INT8_S8S8)
    monkeypatch.setattr(target, "this_machine", lambda: "x86")
    found = model(models.INT8_S8S8)
    assert not found.ok
    assert "made for arm and tensorrt, and this is x86" in found.detail


def test_a_model_that_was_changed_since_pip_installed_it_is_told(
    embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an install from a wheel, whose RECORD holds the hash of every file."""
    from rankotom_edge.doctor.face_reading import model

    record = embedded.parent.parent / "rankotom_edge-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: rankotom-edge\nVersion: 1\n")
    (record / "RECORD").write_text(
        f"rankotom_edge/models/{models.DEFAULT}.onnx,sha256={'A' * 43},1\n"
    )
    installed = metadata.Distribution.at(record)
    monkeypatch.setattr(metadata, "distribution", lambda name: installed)
    assert "changed since pip installed it" in model(models.DEFAULT).detail


def test_scores_that_are_no_probabilities_are_noticed() -> None:
    from rankotom_edge.doctor.face_reading import _not_probabilities
    from rankotom_edge.model.classifier import Scores

    logits = np.zeros((2, 8), np.float32)
    assert _not_probabilities(Scores(logits, np.full((2, 8), 0.125, np.float32))) is None
    for wrong in (0.2, -0.125, np.nan):
        problem = _not_probabilities(Scores(logits, np.full((2, 8), wrong, np.float32)))
        assert problem is not None
        assert "not to 1" in problem


def test_the_detector_finds_the_demo_and_the_loop_reads_it() -> None:
    from rankotom_edge.doctor.face_reading import demo, detector

    assert detector("").detail.startswith("finds the demo's face, score 0.9")
    assert f"{models.DEFAULT} reads happiness at " in demo("").detail


def test_tensorrt_that_is_not_here_comes_with_the_way_to_get_it() -> None:
    from rankotom_edge.doctor.face_reading import tensorrt

    try:
        metadata.version("tensorrt")
    except metadata.PackageNotFoundError:
        found = tensorrt("")
    else:
        pytest.skip("TensorRT is installed here")
    assert (found.ok, found.detail) == (False, "TensorRT is not installed.")
    assert "--system-site-packages" in (found.fix or "")


def test_no_camera_is_told_and_a_source_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankotom_edge import sources

    monkeypatch.setattr(sources, "list_cameras", tuple)
    found = cameras("")
    assert isinstance(found, Finding)
    assert "--source demo" in (found.fix or "")
    assert source("demo").detail == "demo: a still portrait: a frame of 640 x 480 at 30 fps"
    gone = source("/dev/video63")
    assert not gone.ok
    assert "Camera 63" in gone.detail


def test_each_camera_is_tried_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankotom_edge import sources

    here = (sources.Camera(0, "/dev/video0", "front"), sources.Camera(2, "/dev/video2", "back"))
    monkeypatch.setattr(sources, "list_cameras", lambda: here)
    trials = cameras("")
    assert isinstance(trials, tuple)
    assert [(trial.name, trial.argument) for trial in trials] == [
        ("camera 0", "0"),
        ("camera 2", "2"),
    ]


@pytest.mark.parametrize("display", ["", ":987"])
def test_a_screen_that_is_not_there_is_no_crash(
    display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", display)
    check = tried("rankotom_edge.doctor.machine:screen")
    assert check.detail == (
        f"DISPLAY={display} does not answer" if display else "none (DISPLAY is not set)"
    )
    assert "--view terminal" in (check.fix or "")


def test_data_that_is_not_there_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKOTOM_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    check = tried("rankotom_edge.doctor.machine:data")
    assert not check.ok
    assert check.detail.startswith(f"No FERPlus in {tmp_path}/.cache/rankotom-edge")


def test_data_on_a_disk_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "FER2013Train").mkdir(parents=True)
    (tmp_path / "data" / "FER2013Train" / "fer0000001.png").touch()
    os.mkfifo(tmp_path / "fer2013new.csv")
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path))
    assert tried("rankotom_edge.doctor.machine:data", seconds=3).detail == "no answer in 3 s"


def test_vnni_and_dot_products_are_found_in_cpuinfo() -> None:
    assert "VNNI: INT8 takes less" in int8_words("x86", features(VNNI))
    assert "no VNNI" in int8_words("x86", features(ORIN))
    assert int8_words("arm", features(ORIN)).startswith("dot product")
    assert int8_words("arm", features(VNNI)).startswith("no dot product")
    assert features("nothing of the kind") == frozenset()


def test_packages_are_held_against_what_the_project_asks_for(
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
    from rankotom_edge.doctor.software import opencv

    assert opencv("").ok
    both = ["opencv-python", "opencv-contrib-python"]
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"cv2": both})
    found = opencv("")
    assert found.detail.startswith("opencv-contrib-python and opencv-python overwrite each other")
    assert (found.fix or "").startswith("pip uninstall -y opencv-contrib-python opencv-python && ")


def test_every_trial_names_a_function_that_exists() -> None:
    import importlib

    for trial in (trial for group in rounds_with("demo").values() for trial in group):
        module, _, name = trial.function.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
    assert "Your source" not in ROUNDS
