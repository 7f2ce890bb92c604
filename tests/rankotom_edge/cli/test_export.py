"""``rankotom-edge export``: of a training run, and what it refuses."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from click.testing import Result
from torch.optim import AdamW
from typer.testing import CliRunner

import rankotom_edge.model.artifact
from calib.errors import RankotomError
from rankotom_edge.cli.app import app
from train.checkpoint import save_checkpoint
from train.networks import build_network
from train.recipe import Recipe

WIDE = {"COLUMNS": "120", "NO_COLOR": "1"}
ANYTHING = [f"--{name}-limit=100%" for name in ("ece", "aece", "accuracy", "flips")]
NOTHING = [f"--{name}-limit=0" for name in ("ece", "aece", "accuracy", "flips")]


def run(*arguments: object) -> Result:
    return CliRunner(env=WIDE).invoke(app, list(map(str, arguments)), catch_exceptions=False)


def ask(*arguments: str) -> str:
    finished = CliRunner(env=WIDE).invoke(app, list(arguments), catch_exceptions=False)
    assert finished.exit_code == 0, finished.output
    return finished.stdout


@pytest.fixture(autouse=True, scope="module")
def _no_data_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nor a cache of made-up faces among it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKOTOM_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--int8", "--fp16"], "not both"),
        ([], "training run"),
        (["--int8", "--target", "sparc"], "sparc"),
        (["--fp16", "--target", "x86"], "no use for --target"),
        (["--int8", "--unlabelled", "photos", "--ece-limit", "1%"], "no use for --ece-limit"),
        (["--tensorrt", "--plot", "a.png"], "no use for --plot"),
        (["--int8", "--no-mirror"], "no use for --no-mirror"),
        (["runs/some", "--keep-rejected", "-o", "a.onnx"], "no use for --keep-rejected"),
        (["--int8", "--tensorrt", "--target", "x86"], "leave out --target"),
    ],
)
def test_options_that_exclude_each_other_are_bad_usage(arguments: list[str], words: str) -> None:
    result = run("export", *arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_a_training_run_has_to_become_an_fp32_file_first(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"training run. Write its FP32 file first"):
        run("export", tmp_path, "--int8")


def test_without_tensorrt_the_error_says_how_to_get_it() -> None:
    if "tensorrt" in sys.modules:
        pytest.skip("TensorRT is here")
    for more in ([], ["--int8"]):  # and before the work of quantizing
        with pytest.raises(RankotomError, match=r"TensorRT is not installed.*JetPack"):
            run("export", "--tensorrt", *more)


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
        method={"thresholds": torch.zeros(8)},
    )
    return tmp_path / "run"


def test_a_run_is_exported_and_the_report_shows_it(
    run_folder: Path, made_ferplus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "cache"))
    output = tmp_path / "quick-fp32.onnx"
    page = ask(
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
        ask("export", str(run_folder), "-o", str(tmp_path / "model.onnx"), "--data", str(tmp_path))
    assert not (tmp_path / "model.onnx").exists()


def test_a_model_file_must_be_called_one(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"ends in \.onnx"):
        ask("export", str(run_folder), "--output", str(tmp_path / "model.bin"))


def test_a_missing_folder_is_an_error_before_the_work(run_folder: Path, tmp_path: Path) -> None:
    """The data set is missing too, which is found out only later."""
    here, gone = tmp_path / "model.onnx", tmp_path / "gone" / "model.onnx"
    for targets in (["-o", str(gone)], ["-o", str(here), "--json", str(gone)]):
        with pytest.raises(RankotomError, match=r"no folder .*gone; make it first"):
            ask("export", str(run_folder), *targets, "--data", str(tmp_path))


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
