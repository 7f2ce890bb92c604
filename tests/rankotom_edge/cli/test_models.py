"""``models`` and ``export`` as a person meets them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.optim import AdamW
from typer.testing import CliRunner

import rankotom_edge.model.artifact
from calib.errors import RankotomError
from rankotom_edge.cli.app import app
from rankotom_edge.model.artifact import Artifact
from train.checkpoint import save_checkpoint
from train.data.datasets import PAPER_COUNTS
from train.networks import build_network
from train.recipe import Recipe

WIDE = {"COLUMNS": "120", "NO_COLOR": "1"}


def run(*arguments: str) -> str:
    finished = CliRunner(env=WIDE).invoke(app, list(arguments), catch_exceptions=False)
    assert finished.exit_code == 0, finished.output
    return finished.stdout


@pytest.fixture
def embedded(tiny_artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> Artifact:
    monkeypatch.setattr(rankotom_edge.model.artifact, "EMBEDDED", tiny_artifact.path.parent)
    return tiny_artifact


def test_the_embedded_models_are_listed_with_their_figures(embedded: Artifact) -> None:
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
def test_a_named_model_tells_all(embedded: Artifact, by: str) -> None:
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


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    network = build_network("edge-narrow", channels=1, classes=8, dropout=0.0)
    (tmp_path / "run").mkdir()
    save_checkpoint(
        tmp_path / "run" / "checkpoint.safetensors",
        recipe=Recipe(name="quick", network="edge-narrow", size=32, channels=1),
        epoch=1,
        network=network,
        averaged=network,
        optimizer=AdamW(network.parameters()),
        thresholds=torch.zeros(8),
    )
    return tmp_path / "run"


def test_a_run_is_exported_and_the_report_shows_it(
    run_folder: Path, made_ferplus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_COUNTS["ferplus"], "valid", 40)
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "cache"))
    output = tmp_path / "quick-fp32.onnx"
    page = run(
        "export", str(run_folder), "--output", str(output), "--data", str(made_ferplus),
        "--no-mirror", "--json", str(tmp_path / "quick.json"),
    )  # fmt: skip
    assert page.lstrip().startswith("quick-fp32  fp32, ")
    assert "agree with torch" in page
    # Untrained, it knows nothing of these faces.
    assert "20.0000, the bound of its fit" in page
    assert "Note: this model is not calibrated" in page
    assert "mirror image" not in page
    described = json.loads((tmp_path / "quick.json").read_text())
    assert described["recipe"]["name"] == "quick"
    assert described["parity"] < 1e-3
    assert described["bytes"] == output.stat().st_size
    assert rankotom_edge.model.artifact.read_artifact(output).card.mirror is False


def test_an_export_without_data_says_where_it_looked(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="No FERPlus in"):
        run("export", str(run_folder), "-o", str(tmp_path / "model.onnx"), "--data", str(tmp_path))
    assert not (tmp_path / "model.onnx").exists()


def test_a_model_file_must_be_called_one(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"ends in \.onnx"):
        run("export", str(run_folder), "--output", str(tmp_path / "model.bin"))


def test_a_folder_that_is_not_there_is_told_before_the_work(
    run_folder: Path, tmp_path: Path
) -> None:
    """The data set is missing too, which is found out only later."""
    here, gone = tmp_path / "model.onnx", tmp_path / "gone" / "model.onnx"
    for targets in (["-o", str(gone)], ["-o", str(here), "--json", str(gone)]):
        with pytest.raises(RankotomError, match=r"no folder .*gone; make it first"):
            run("export", str(run_folder), *targets, "--data", str(tmp_path))


def test_without_torch_an_export_names_the_extra(run_folder: Path, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None\nfrom rankotom_edge.cli.app import main; main()"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, "export", str(run_folder), "-o", str(tmp_path / "m.onnx")],
        capture_output=True,
        text=True,
        env={**os.environ, **WIDE},
        check=False,
    )
    assert finished.returncode == 2
    assert "pip install 'rankotom-edge[train]'" in finished.stderr
