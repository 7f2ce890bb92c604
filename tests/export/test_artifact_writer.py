"""A model file is written whole, with its card and its temperature, or not at all."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from calib.errors import RankotomError
from calib.temperature import softmax
from export.artifact_writer import get_temperature, serialize, stage_artifact, write_artifact
from rankotom_edge.model.artifact import TEMPERATURE, Artifact, read_artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.classifier import Classifier


@pytest.fixture
def model(tiny_artifact: Artifact) -> onnx.ModelProto:
    return onnx.load(tiny_artifact.path)


def test_what_was_written_is_what_is_read(
    model: onnx.ModelProto, tiny_card: ModelCard, tmp_path: Path
) -> None:
    assert write_artifact(model, tiny_card, tmp_path / "model.onnx").card == tiny_card


def test_another_temperature_needs_no_other_graph(
    model: onnx.ModelProto, tiny_card: ModelCard, tiny_artifact: Artifact, tmp_path: Path
) -> None:
    warmer = write_artifact(model, replace(tiny_card, temperature=3.0), tmp_path / "warmer.onnx")
    faces = np.random.default_rng(0).integers(0, 256, (4, 1, 32, 32), dtype=np.uint8)
    before, after = (Classifier(file).classify(faces) for file in (tiny_artifact, warmer))
    np.testing.assert_array_equal(before.logits, after.logits)
    np.testing.assert_allclose(before.probabilities, softmax(before.logits, 0.7), atol=1e-6)
    np.testing.assert_allclose(after.probabilities, softmax(after.logits, 3.0), atol=1e-6)


@pytest.mark.parametrize("temperature", [0.05, 1 / 3, 1.0, 20.0])
def test_every_temperature_is_found_again_in_the_graph(
    model: onnx.ModelProto, tiny_card: ModelCard, tmp_path: Path, temperature: float
) -> None:
    card = replace(tiny_card, temperature=temperature)
    path = write_artifact(model, card, tmp_path / "model.onnx").path
    assert get_temperature(onnx.load(path)) == np.float32(temperature)


def test_the_same_graph_and_card_give_the_same_bytes(
    model: onnx.ModelProto, tiny_card: ModelCard
) -> None:
    assert serialize(model, tiny_card) == serialize(model, tiny_card)


def test_a_new_card_replaces_the_old_one_and_leaves_other_metadata(
    model: onnx.ModelProto, tiny_card: ModelCard, tmp_path: Path
) -> None:
    model.metadata_props.add(key="author", value="someone")
    write_artifact(model, replace(tiny_card, name="renamed"), tmp_path / "model.onnx")
    entries = onnx.load(tmp_path / "model.onnx").metadata_props
    assert [entry.value for entry in entries if entry.key == "rankotom.name"] == ["renamed"]
    assert [entry.value for entry in entries if entry.key == "author"] == ["someone"]


def test_an_error_leaves_the_earlier_file(
    model: onnx.ModelProto, tiny_card: ModelCard, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    before = write_artifact(model, tiny_card, path)
    other = replace(tiny_card, name="other")
    with pytest.raises(KeyboardInterrupt), stage_artifact(model, other, path):
        raise KeyboardInterrupt
    assert read_artifact(path) == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_graph_without_a_temperature_cannot_be_calibrated(
    model: onnx.ModelProto, tiny_card: ModelCard
) -> None:
    (temperature,) = (held for held in model.graph.initializer if held.name == TEMPERATURE)
    model.graph.initializer.remove(temperature)
    with pytest.raises(RankotomError, match="no initializer 'temperature'"):
        serialize(model, tiny_card)


def test_a_card_that_does_not_fit_its_graph_is_not_written(
    model: onnx.ModelProto, tiny_card: ModelCard, tmp_path: Path
) -> None:
    seven = replace(tiny_card, labels=tiny_card.labels[:7])
    with pytest.raises(RankotomError, match="7 labels"):
        write_artifact(model, seven, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
