from __future__ import annotations

import os
import shutil
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import rankotom_edge.model.artifact
from rankotom_edge.doctor import face_reading
from rankotom_edge.doctor.check import Finding
from rankotom_edge.doctor.face_reading import (
    demo,
    detector,
    model,
    model_files,
    probability_problem,
    restore_command,
    tensorrt,
)
from rankotom_edge.doctor.subprocess_probe import run_here
from rankotom_edge.model import embedded as models
from rankotom_edge.model import target
from rankotom_edge.model.artifact import EMBEDDED
from rankotom_edge.model.classifier import Scores


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the model files that may be broken."""
    folder = tmp_path / "rankotom_edge" / "model" / "embedded"
    shutil.copytree(EMBEDDED, folder)
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", folder)
    monkeypatch.setattr(face_reading, "EMBEDDED", folder)
    return folder


def test_the_embedded_models_pass() -> None:
    probes = model_files("")
    assert isinstance(probes, tuple)
    assert probes[0].argument == models.DEFAULT
    assert [probe.level for probe in probes] == ["needed", "optional", "optional"]
    found = [model(probe.argument) for probe in probes]
    assert all(one.ok for one in found), found
    assert "the default" in found[0].detail


def test_an_empty_models_folder_is_reported_with_its_fix(embedded: Path) -> None:
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
    found = run_here("rankotom_edge.doctor.face_reading:model", models.DEFAULT)["finding"]
    assert isinstance(found, dict)
    assert found["ok"] is False
    assert "not a whole ONNX file" in found["detail"] or "not a model of ours" in found["detail"]


def test_a_default_model_for_another_machine_fails(
    embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "DEFAULT", models.INT8_S8S8)
    monkeypatch.setattr(target, "this_machine", lambda: "x86")
    found = model(models.INT8_S8S8)
    assert not found.ok
    assert "made for tensorrt, and this is x86" in found.detail


def test_a_model_that_was_changed_since_pip_installed_it_fails(
    embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an install from a wheel, whose RECORD holds the hash of every file."""
    record = embedded.parents[2] / "rankotom_edge-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: rankotom-edge\nVersion: 1\n")
    (record / "RECORD").write_text(
        f"rankotom_edge/model/embedded/{models.DEFAULT}.onnx,sha256={'A' * 43},1\n"
    )
    installed = metadata.Distribution.at(record)
    monkeypatch.setattr(metadata, "distribution", lambda name: installed)
    assert "changed since pip installed it" in model(models.DEFAULT).detail


def test_scores_that_are_no_probabilities_are_noticed() -> None:
    logits = np.zeros((2, 8), np.float32)
    assert probability_problem(Scores(logits, np.full((2, 8), 0.125, np.float32))) is None
    for wrong in (0.2, -0.125, np.nan):
        problem = probability_problem(Scores(logits, np.full((2, 8), wrong, np.float32)))
        assert problem is not None
        assert "instead of 1" in problem


def test_the_detector_finds_the_demo_and_the_loop_reads_it() -> None:
    assert detector("").detail.startswith("finds the demo's face, score 0.9")
    assert f"{models.DEFAULT} reads happiness at " in demo("").detail


def test_without_tensorrt_the_fix_says_how_to_install_it() -> None:
    try:
        metadata.version("tensorrt")
    except metadata.PackageNotFoundError:
        found = tensorrt("")
    else:
        pytest.skip("TensorRT is installed here")
    assert (found.ok, found.detail) == (False, "TensorRT is not installed.")
    assert "--system-site-packages" in (found.fix or "")


def test_model_files_are_restored_by_git_in_a_clone_and_by_pip_elsewhere(embedded: Path) -> None:
    assert restore_command(embedded).startswith("pip install --force-reinstall")
    root = embedded.parents[2]
    (root / ".git").mkdir()
    assert restore_command(embedded) == f"git -C {root} checkout -- rankotom_edge/model/embedded"
