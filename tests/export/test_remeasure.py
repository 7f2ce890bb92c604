"""A model that is measured again keeps its graph and its faces, and gets new metrics."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from calib.errors import RankotomError
from export.artifact_writer import write_artifact
from export.faces import labelled_faces
from export.remeasure import remeasure
from rankotom_edge.model.artifact import Artifact, read_artifact
from train.data.datasets import load_dataset, validation_half


@pytest.fixture
def measured(tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path) -> Artifact:
    """A card that is older than ``other_bars``, of faces that are still there."""
    valid = load_dataset("ferplus", made_ferplus, "valid", check_count=False)
    faces = validation_half(valid, "report")
    card = tiny_artifact.card
    used = labelled_faces(faces, card.crop, card.labels, tmp_path / "framed").used
    model = onnx.load(tiny_artifact.path)
    return write_artifact(model, replace(card, measured_on=used), tmp_path / "tiny.onnx")


def test_the_evaluation_is_new_and_the_rest_is_kept(
    measured: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    before = shutil.copy(measured.path, tmp_path / "before.onnx")
    again = remeasure(measured, made_ferplus)
    assert again.path == measured.path
    assert measured.card.evaluation.other_bars == ()
    assert sum(bin_.count for bin_ in again.card.evaluation.other_bars) == 7 * 20
    assert replace(again.card, evaluation=measured.card.evaluation) == measured.card
    graphs = [onnx.load(path).graph.SerializeToString() for path in (before, again.path)]
    assert graphs[0] == graphs[1]


def test_other_faces_are_refused_and_nothing_is_written(
    measured: Artifact, made_ferplus: Path
) -> None:
    card = replace(measured.card, measured_on=replace(measured.card.measured_on, sha256="0" * 64))
    other = write_artifact(onnx.load(measured.path), card, measured.path)
    content = other.path.read_bytes()
    with pytest.raises(RankotomError, match="not the same"):
        remeasure(other, made_ferplus)
    assert other.path.read_bytes() == content
    assert np.isfinite(read_artifact(other.path).card.temperature)
