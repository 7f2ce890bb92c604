"""A model file is trusted only when it is whole, ours, readable by this version and consistent."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import rankotom_edge.model.artifact
from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact, load_artifact, read_artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.classifier import Classifier

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


def test_a_file_says_its_size_and_its_hash(tiny_artifact: Artifact) -> None:
    described = tiny_artifact.as_json()
    assert described["bytes"] == tiny_artifact.path.stat().st_size
    assert len(str(described["sha256"])) == 64
    assert json.loads(json.dumps(described))["labels"][1] == "happiness"


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 1000])
def test_a_file_that_is_no_onnx_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(RankotomError, match=r"broken\.onnx"):
        read_artifact(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99, 0.999])
def test_a_truncated_file_is_refused(tiny_artifact: Artifact, tmp_path: Path, share: float) -> None:
    content = tiny_artifact.path.read_bytes()
    path = tmp_path / "half.onnx"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(RankotomError, match=r"half\.onnx"):
        read_artifact(path)


def with_damage(content: bytes, start: int, seed: int) -> bytes:
    """A bit or byte changed, a few bytes lost or added, or all cut off, from ``start`` on."""
    chance = random.Random(seed)
    place = chance.randrange(start, len(content))
    before, after = content[:place], content[place:]
    return chance.choice(
        [
            before + bytes([after[0] ^ 1 << chance.randrange(8)]) + after[1:],
            before + bytes([after[0] | 0x80]) + after[1:],
            before + chance.randbytes(8) + after[8:],
            before + after[chance.randrange(1, 20) :],
            before + chance.randbytes(chance.randrange(1, 20)) + after,
            before,
        ]
    )


@pytest.mark.parametrize("part", ["anywhere", "metadata"])
def test_no_damage_ends_in_anything_but_our_error(
    tiny_artifact: Artifact, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    content = tiny_artifact.path.read_bytes()
    start = content.index(b"rankotom.") if part == "metadata" else 0
    path = tmp_path / "damaged.onnx"
    refusals = []
    for seed in range(150):
        path.write_bytes(with_damage(content, start, seed))
        try:
            read_artifact(path)
        except RankotomError as error:
            refusals.append(str(error))
    assert len(refusals) > 50
    assert all("damaged.onnx" in words for words in refusals)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("word", [b"rankotom.licence", b"For tests.", b"\x22\x04Relu"])
def test_a_byte_that_is_no_text_is_bad_input_and_no_bug(
    tiny_artifact: Artifact, tmp_path: Path, word: bytes
) -> None:
    path = tmp_path / "damaged.onnx"
    path.write_bytes(tiny_artifact.path.read_bytes().replace(word, word[:-1] + b"\xff", 1))
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge", "models", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 2, finished.stderr
    assert finished.stdout == ""
    assert finished.stderr.startswith(f"error: {path} has text that is not valid UTF-8")
    assert finished.stderr.endswith("export it again.\n")


@pytest.mark.parametrize("field", ["labels", "crop"])
def test_a_card_that_its_graph_contradicts_is_refused(
    tiny_artifact: Artifact, tiny_card: ModelCard, tmp_path: Path, field: str
) -> None:
    other = {
        "labels": json.dumps(tiny_card.labels[:3]),
        "crop": json.dumps({**tiny_card.crop.as_json(), "size": 64}),
    }
    path = changed(
        tiny_artifact,
        tmp_path / "wrong.onnx",
        lambda entries: entries.update({f"rankotom.{field}": other[field]}),
    )
    with pytest.raises(RankotomError, match="its card promises"):
        read_artifact(path)


def test_a_graph_that_takes_only_one_face_is_refused(
    tiny_artifact: Artifact, tmp_path: Path
) -> None:
    model = onnx.load(tiny_artifact.path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, tmp_path / "single.onnx")
    with pytest.raises(RankotomError, match=r"single\.onnx .* exactly 1 at a time.*rankotom-edge"):
        read_artifact(tmp_path / "single.onnx")


def test_a_model_with_weights_in_another_file_is_refused(
    tiny_artifact: Artifact, tmp_path: Path
) -> None:
    """Its hash would not cover them, and an engine of others would pass for its own."""
    path = tmp_path / "parted.onnx"
    onnx.save(onnx.load(tiny_artifact.path), path, save_as_external_data=True, location="weights")
    with pytest.raises(RankotomError, match=r"parted\.onnx .* in another file.*rankotom-edge"):
        read_artifact(path)


@pytest.mark.parametrize("output", ["probabilities", "evidence"])
def test_an_output_of_another_kind_is_refused(
    tiny_artifact: Artifact, tmp_path: Path, output: str
) -> None:
    model = onnx.load(tiny_artifact.path)
    (given,) = (each for each in model.graph.output if each.name == output)
    for node in model.graph.node:
        node.output[:] = [f"{name}_float" if name == output else name for name in node.output]
        node.input[:] = [f"{name}_float" if name == output else name for name in node.input]
    cast = onnx.helper.make_node("Cast", [f"{output}_float"], [output], to=onnx.TensorProto.DOUBLE)
    model.graph.node.append(cast)
    given.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    onnx.save(model, tmp_path / "double.onnx")
    with pytest.raises(RankotomError, match=rf"{output} .*floats.*tensor\(double\)"):
        read_artifact(tmp_path / "double.onnx")


def test_a_model_without_evidence_is_as_good(tiny_artifact: Artifact, tmp_path: Path) -> None:
    model = onnx.load(tiny_artifact.path)
    (evidence,) = (each for each in model.graph.output if each.name == "evidence")
    model.graph.output.remove(evidence)
    onnx.save(model, tmp_path / "plain.onnx")
    artifact = read_artifact(tmp_path / "plain.onnx")
    assert not artifact.has_evidence
    with Classifier(artifact) as classifier:
        scores = classifier.classify(np.zeros((2, 1, 32, 32), np.uint8))
    assert scores.evidence is None
    assert scores.probabilities.shape == (2, 8)


def test_a_temperature_that_the_graph_contradicts_is_refused(
    tiny_artifact: Artifact, tmp_path: Path
) -> None:
    path = changed(
        tiny_artifact,
        tmp_path / "wrong.onnx",
        lambda entries: entries.update({"rankotom.temperature": "1.7"}),
    )
    with pytest.raises(RankotomError, match=r"temperature of 1\.7; its graph divides by 0\.7"):
        read_artifact(path)


def test_a_graph_without_its_temperature_is_refused(
    tiny_artifact: Artifact, tmp_path: Path
) -> None:
    model = onnx.load(tiny_artifact.path)
    (divisor,) = (held for held in model.graph.initializer if held.name == "temperature")
    (division,) = (node for node in model.graph.node if "temperature" in node.input)
    divisor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(divisor), "other"))
    division.input[1] = "other"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(RankotomError, match="no temperature where ours have it"):
        read_artifact(tmp_path / "other.onnx")


def test_reading_a_model_does_not_import_onnx(tiny_artifact: Artifact) -> None:
    """It would take ten times as long as all the rest of it."""
    script = (
        "import sys; from rankotom_edge.model.artifact import load_artifact\n"
        "load_artifact(sys.argv[1]); sys.exit('onnx' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tiny_artifact.path)]
    assert subprocess.run(command, check=False).returncode == 0


def test_a_model_is_found_by_its_path_or_its_embedded_name(
    tiny_artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_artifact(str(tiny_artifact.path)) == tiny_artifact
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", tiny_artifact.path.parent)
    assert load_artifact("tiny") == tiny_artifact


def test_an_unknown_name_is_answered_with_what_there_is(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", tiny_artifact.path.parent)
    with pytest.raises(RankotomError, match=r"no model 'tinny'.*embedded here: tiny"):
        load_artifact("tinny")
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", tmp_path)
    with pytest.raises(RankotomError, match="none is embedded"):
        load_artifact("tiny")


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"Cannot read .*: Is a directory"):
        read_artifact(tmp_path)
