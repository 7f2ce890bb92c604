"""``rankotom-edge models``: the table, and one card in full."""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from typer.testing import CliRunner

import rankotom_edge.model.artifact
from calib.errors import RankotomError
from rankotom_edge.cli.app import app
from rankotom_edge.model.artifact import Artifact

WIDE = {"COLUMNS": "120", "NO_COLOR": "1"}


def run(*arguments: str) -> str:
    finished = CliRunner(env=WIDE).invoke(app, list(arguments), catch_exceptions=False)
    assert finished.exit_code == 0, finished.output
    return finished.stdout


@pytest.fixture
def embedded(tiny_artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> Artifact:
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", tiny_artifact.path.parent)
    return tiny_artifact


def test_the_embedded_models_are_listed_with_their_metrics(embedded: Artifact) -> None:
    page = run("models")
    row = next(line for line in page.splitlines() if line.startswith("tiny"))
    assert "fp32" in row
    assert "25.0 %" in row
    assert "Measured on noise/report, 20 faces." in page


def test_without_embedded_models_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", tmp_path)
    assert "No model is embedded here" in run("models")
    assert json.loads(run("models", "--json", "-")) == {"models": []}


@pytest.mark.parametrize("by", ["name", "path"])
def test_a_named_model_is_shown_in_full(embedded: Artifact, by: str) -> None:
    page = run("models", "tiny" if by == "name" else str(embedded.path))
    for words in ("mirror image", "neutral, happiness", "0.7000", "made-up", "For tests."):
        assert words in page


def test_json_holds_the_whole_card(embedded: Artifact) -> None:
    (described,) = json.loads(run("models", "--json", "-"))["models"]
    assert described["sha256"] == embedded.sha256
    assert described["crop"]["framing"]["mouth"] == [0.507, 0.782]
    assert described["figures"]["intervals"]["ece"] == [0.2, 0.3]
    assert described["mirror"] is True


def test_a_wrong_name_lists_the_right_ones(embedded: Artifact) -> None:
    with pytest.raises(RankotomError, match="embedded here: tiny"):
        run("models", "tinny")


def test_the_list_needs_no_torch(tmp_path: Path) -> None:
    script = (
        "import sys; from rankotom_edge.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, "models"], capture_output=True, text=True, check=True
    )
    assert not {"torch", "onnx", "mediapipe"} & set(finished.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", ["[/]", "[bold red]x", ":smile:", "%s {}"])
def test_a_name_that_looks_like_markup_is_printed_as_it_is(
    tiny_artifact: Artifact, tmp_path: Path, name: str
) -> None:
    model = onnx.load(tiny_artifact.path)
    entries = {entry.key: entry.value for entry in model.metadata_props}
    entries |= {f"rankotom.{key}": name for key in ("name", "licence", "created_by")}
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, entries)
    onnx.save(model, tmp_path / "named.onnx")
    assert run("models", str(tmp_path / "named.onnx")).count(name) == 3


def test_a_name_with_an_escape_sequence_is_refused(tiny_artifact: Artifact, tmp_path: Path) -> None:
    model = onnx.load(tiny_artifact.path)
    for entry in model.metadata_props:
        entry.value = "\x1b[31mred" if entry.key == "rankotom.name" else entry.value
    onnx.save(model, tmp_path / "named.onnx")
    with pytest.raises(RankotomError, match="its name cannot be read") as refused:
        run("models", str(tmp_path / "named.onnx"))
    assert "\x1b" not in str(refused.value)
