"""What a model file says of itself, written as metadata and read back."""

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact, embedded_models, read_artifact
from rankotom_edge.model.card import PREFIX, ModelCard, evaluation_as_json

Change = Callable[[dict[str, str]], object]


def changed(artifact: Artifact, path: Path, change: Change) -> Path:
    """The same graph with other metadata."""
    model = onnx.load(artifact.path)
    entries = {entry.key: entry.value for entry in model.metadata_props}
    change(entries)
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, entries)
    onnx.save(model, path)
    return path


def test_a_card_survives_its_own_metadata(tiny_card: ModelCard) -> None:
    assert ModelCard.from_metadata(tiny_card.as_metadata()) == tiny_card


@pytest.mark.parametrize("name", embedded_models())
def test_an_embedded_card_is_written_as_it_was_read(name: str) -> None:
    """Byte for byte: a model that is exported again differs only in what was changed."""
    path = embedded_models()[name]
    entries = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    written = read_artifact(path).card.as_metadata()
    assert written == {key: text for key, text in entries.items() if key.startswith(PREFIX)}


def test_a_file_cut_between_two_entries_is_refused(
    tiny_artifact: Artifact, tiny_card: ModelCard, tmp_path: Path
) -> None:
    """The one cut that leaves valid ONNX: an entry of the card is then missing."""
    last = max(tiny_card.as_metadata())
    path = changed(tiny_artifact, tmp_path / "cut.onnx", lambda entries: entries.pop(last))
    with pytest.raises(RankotomError, match=r"says nothing of its temperature"):
        read_artifact(path)


def test_an_onnx_from_elsewhere_is_refused(tiny_artifact: Artifact, tmp_path: Path) -> None:
    path = changed(tiny_artifact, tmp_path / "foreign.onnx", dict.clear)
    with pytest.raises(RankotomError, match=r"foreign\.onnx .* without our metadata"):
        read_artifact(path)


def test_a_newer_format_asks_for_an_update(tiny_artifact: Artifact, tmp_path: Path) -> None:
    path = changed(
        tiny_artifact,
        tmp_path / "new.onnx",
        lambda entries: entries.update({"rankotom.format": "2"}),
    )
    with pytest.raises(RankotomError, match=r"format 2.*Update rankotom-edge"):
        read_artifact(path)


def test_an_entry_of_a_later_version_is_passed_over(
    tiny_artifact: Artifact, tiny_card: ModelCard, tmp_path: Path
) -> None:
    path = changed(
        tiny_artifact, tmp_path / "more.onnx", lambda entries: entries.update({"rankotom.new": "1"})
    )
    assert read_artifact(path).card == tiny_card


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("format", "one"),
        ("format", "1" * 5000),
        ("labels", "neutral"),
        ("labels", "[]"),
        ("labels", '["joy", "joy"]'),
        ("crop", "{}"),
        ("crop", '{"size": 32, "channels": 2, "framing": {}}'),
        ("crop", '{"size": 32, "channels": 1, "framing": []}'),
        ("crop", '{"size": 32, "channels": 1, "framing": {"left_eye": [0.3, 0.4]}}'),
        ("temperature", "warm"),
        ("temperature", "0"),
        ("temperature", "NaN"),
        ("precision", "banana"),
        ("offsets", '{"neutral": 1}'),
        ("offsets", '["none"]'),
        ("targets", '["mars"]'),
        ("mirror", "perhaps"),
        ("recipe", "[]"),
        ("recipe", "[" * 100_000),
        ("recipe", '{"learning_rate": 1e999}'),
        ("crop", f'{{"size": 32, "channels": 1, "framing": {{"left_eye": [0.3, 1{"0" * 400}]}}}}'),
        ("recipe", '{"runs": [{"nome": "first"}]}'),
        ("calibrated_on", '[{"name": "ferplus"}]'),
        ("calibrated_on", "7"),
        ("measured_on", "null"),
        ("measured_on", '{"name": "noise", "count": Infinity, "sha256": ""}'),
        ("figures", "{}"),
        ("figures", '{"accuracy": 2, "intervals": {"accuracy": [0, 1]}}'),
    ],
)
def test_a_field_that_does_not_read_is_named(
    tiny_artifact: Artifact, tmp_path: Path, field: str, text: str
) -> None:
    path = changed(
        tiny_artifact,
        tmp_path / "bad.onnx",
        lambda entries: entries.update({f"rankotom.{field}": text}),
    )
    with pytest.raises(RankotomError, match=r"bad\.onnx"):
        read_artifact(path)


@pytest.mark.parametrize(
    "damage",
    [
        {"nll": "low"},
        {"brier": float("nan")},
        {"floor": {"ece": {"p59": 0.1}}},
        {"bins": [{"low": 0, "high": 1, "count": 20, "confidence": 0.5}]},
    ],
)
def test_a_figure_that_is_no_number_is_refused(
    tiny_artifact: Artifact, tiny_card: ModelCard, tmp_path: Path, damage: dict[str, object]
) -> None:
    figures = json.dumps({**evaluation_as_json(tiny_card.evaluation), **damage})
    path = changed(
        tiny_artifact,
        tmp_path / "bad.onnx",
        lambda entries: entries.update({"rankotom.figures": figures}),
    )
    with pytest.raises(RankotomError, match="its figures cannot be read"):
        read_artifact(path)


def test_a_change_without_its_figures_is_refused(tiny_artifact: Artifact, tmp_path: Path) -> None:
    quantization = {
        "layers_in_fp32": [],
        "judged_on": {"name": "noise", "count": 20, "sha256": ""},
        "ece_checked": True,
        "change": {"accuracy": 0.0, "ece": 0.0, "aece": 0.0, "flipz": 0.0},
    }
    path = changed(
        tiny_artifact,
        tmp_path / "bad.onnx",
        lambda entries: entries.update({"rankotom.quantization": json.dumps(quantization)}),
    )
    with pytest.raises(RankotomError, match=r"its quantization cannot be read.*flips"):
        read_artifact(path)
