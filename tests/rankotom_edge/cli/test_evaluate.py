"""``evaluate`` and ``drift`` of model files on a data set."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from calib.errors import RankotomError
from calib.prediction_files import read_predictions
from export.artifact_writer import write_artifact
from rankotom_edge.cli.app import app
from rankotom_edge.cli.predictions import caveat
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import FacesUsed, ModelCard

QUICK = ["--resamples", "20"]
CONTRACT = {
    "n", "accuracy", "ece", "aece", "mce", "nll", "brier", "top2_match", "temperature",
    "intervals", "bins", "per_class", "model",
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "cache"))


def run(*arguments: str, status: int = 0) -> str:
    environment = {"COLUMNS": "100", "NO_COLOR": "1"}
    finished = CliRunner(env=environment).invoke(app, [*arguments, *QUICK], catch_exceptions=False)
    assert finished.exit_code == status, finished.output
    return finished.stdout


def evaluated(model: str, data: Path, *arguments: str) -> dict[str, object]:
    figures: dict[str, object] = json.loads(
        run("evaluate", "--model", model, "--data", str(data), *arguments, "--json", "-")
    )
    return figures


@pytest.fixture(scope="module")
def blunt(
    tiny_artifact: Artifact, tiny_card: ModelCard, tmp_path_factory: pytest.TempPathFactory
) -> Artifact:
    """The same graph at a temperature that leaves no confidence."""
    card = replace(tiny_card, name="blunt", temperature=50.0)
    path = tmp_path_factory.mktemp("blunt") / "blunt.onnx"
    return write_artifact(onnx.load(tiny_artifact.path), card, path)


def test_a_model_is_measured_on_a_split_and_keeps_the_contract(
    tiny_artifact: Artifact, made_ferplus: Path
) -> None:
    figures = evaluated(
        str(tiny_artifact.path), made_ferplus, "--dataset", "ferplus", "--split", "valid"
    )
    assert figures.keys() >= CONTRACT
    assert figures["n"] == 40
    assert figures["temperature"] == 0.7
    assert figures["top2_match"] is not None
    assert figures["model"] == {
        "name": "tiny",
        "file": "tiny.onnx",
        "precision": "fp32",
        "bytes": tiny_artifact.bytes,
        "sha256": tiny_artifact.sha256,
        "targets": [],
        "layers_in_fp32": [],
    }


@pytest.mark.parametrize(
    ("arguments", "name", "count"),
    [
        (["--split", "test"], "ferplus/test", 12),
        (["--split", "valid", "--half", "choose"], "ferplus/valid/choose", 20),
        (["--half", "report"], "ferplus/valid/report", 20),
    ],
)
def test_the_faces_measured_are_the_ones_named(
    tiny_artifact: Artifact, made_ferplus: Path, arguments: list[str], name: str, count: int
) -> None:
    figures = evaluated(str(tiny_artifact.path), made_ferplus, *arguments)
    assert figures["n"] == count
    assert isinstance(figures["data"], dict)
    assert figures["data"]["name"] == name


def test_a_data_folder_that_cannot_be_written_to_is_no_obstacle(
    tiny_artifact: Artifact, made_ferplus: Path
) -> None:
    before = sorted(made_ferplus.rglob("*"))
    evaluated(str(tiny_artifact.path), made_ferplus)
    assert sorted(made_ferplus.rglob("*")) == before


def test_the_report_names_the_model_and_the_faces(
    tiny_artifact: Artifact, made_ferplus: Path
) -> None:
    model = ["--model", str(tiny_artifact.path), "--data", str(made_ferplus)]
    page = run("evaluate", *model, "--half", "report")
    assert page.lstrip().startswith("tiny on ferplus/valid/report  20 faces")
    assert "Note:" not in page


@pytest.mark.parametrize(
    ("fitted", "arguments", "words"),
    [
        ("ferplus/valid/choose", [], "some of these faces fitted the temperature; --half report"),
        (
            "ferplus/valid/choose",
            ["--half", "choose"],
            "these faces fitted the temperature; --half",
        ),
        (
            "ferplus/valid",
            ["--half", "report"],
            "these faces fitted the temperature; that on other",
        ),
        ("ferplus/valid/choose", ["--half", "report"], None),
        ("ferplus/valid/choose", ["--split", "test"], None),
    ],
)
def test_faces_that_fitted_the_temperature_are_told(
    tiny_artifact: Artifact,
    tiny_card: ModelCard,
    made_ferplus: Path,
    tmp_path: Path,
    fitted: str,
    arguments: list[str],
    words: str | None,
) -> None:
    card = replace(tiny_card, calibrated_on=(FacesUsed(fitted, 20, "1" * 64),))
    path = str(write_artifact(onnx.load(tiny_artifact.path), card, tmp_path / "fitted.onnx").path)
    for command in (["evaluate", "--model", path], ["drift", path, path]):
        page = " ".join(run(*command, "--data", str(made_ferplus), *arguments).split())
        assert page.count("Note: ") == (words is not None)
        assert f"Note: {words}" in page or words is None


def test_the_same_faces_are_known_under_another_name() -> None:
    here, there = (FacesUsed(name, 20, "1" * 64) for name in ("mine/valid", "ferplus/choose"))
    assert str(caveat(here, [there])).startswith("these faces fitted")
    assert caveat(replace(here, sha256="2" * 64), [there]) is None


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("ferplus/valid", 3_579, "1,790 of these 3,579 faces fitted"),
        ("ferplus/valid", 2_000, "some of these faces fitted"),
        ("ferplus/valid", 240, "some of these faces fitted"),
        ("mine/valid", 3_579, "some of these faces fitted"),
    ],
)
def test_how_many_faces_fitted_is_said_only_where_all_of_the_split_are_here(
    name: str, count: int, words: str
) -> None:
    fitted = FacesUsed(f"{name}/choose", 1_790, "1" * 64)
    assert str(caveat(FacesUsed(name, count, "2" * 64), [fitted])).startswith(words)


def test_where_json_has_standard_output_the_note_is_on_standard_error(
    tiny_artifact: Artifact, tiny_card: ModelCard, made_ferplus: Path, tmp_path: Path
) -> None:
    card = replace(tiny_card, calibrated_on=(FacesUsed("ferplus/valid", 40, "1" * 64),))
    model = write_artifact(onnx.load(tiny_artifact.path), card, tmp_path / "fitted.onnx").path
    arguments = ["evaluate", "--model", str(model), "--data", str(made_ferplus), "--json", "-"]
    finished = CliRunner().invoke(app, [*arguments, *QUICK], catch_exceptions=False)
    assert json.loads(finished.stdout)["n"] == 40
    assert finished.stderr.startswith("note: these faces fitted")


def test_saved_predictions_give_the_same_figures(
    tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.npz"
    asked = evaluated(str(tiny_artifact.path), made_ferplus, "--save-predictions", str(saved))
    read = json.loads(run("evaluate", str(saved), "--json", "-"))
    for name in ("accuracy", "ece", "aece", "nll", "top2_match", "bins", "intervals"):
        assert read[name] == asked[name]
    assert read["data"] is None
    assert read_predictions(saved).logits is not None


def test_predictions_are_saved_as_npz_only(
    tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    with pytest.raises(RankotomError, match=r"saved as \.npz"):
        evaluated(
            str(tiny_artifact.path), made_ferplus, "--save-predictions", str(tmp_path / "p.csv")
        )


@pytest.mark.parametrize("arguments", [[], ["predictions.npz", "--model", "tiny"]])
def test_either_predictions_or_a_model_must_be_named(arguments: list[str]) -> None:
    finished = CliRunner().invoke(app, ["evaluate", *arguments])
    assert finished.exit_code == 2
    assert "--model" in finished.output


def test_a_model_that_is_not_there_is_named(made_ferplus: Path) -> None:
    with pytest.raises(RankotomError, match=r"no model 'nowhere\.onnx'"):
        evaluated("nowhere.onnx", made_ferplus)


def test_a_split_that_is_not_there_is_named(tiny_artifact: Artifact, made_ferplus: Path) -> None:
    with pytest.raises(RankotomError, match="FER2013Train"):
        evaluated(str(tiny_artifact.path), made_ferplus, "--split", "train")


def test_two_models_are_compared_on_the_same_faces(
    tiny_artifact: Artifact, blunt: Artifact, made_ferplus: Path
) -> None:
    page = run(
        "drift", str(tiny_artifact.path), str(blunt.path), "--data", str(made_ferplus),
        "--ece-limit", "1", "--aece-limit", "1", "--json", "-",
    )  # fmt: skip
    figures = json.loads(page)
    assert figures["flips"]["rate"] == 0
    assert figures["change"]["accuracy"] == 0
    assert figures["reference"]["model"]["name"] == "tiny"
    assert figures["candidate"]["model"]["name"] == "blunt"
    assert figures["candidate"]["temperature"] == 50
    assert figures["size_ratio"] == pytest.approx(blunt.bytes / tiny_artifact.bytes)
    assert figures["confidence_shift"]["mean"] < 0
    assert (figures["data"]["name"], figures["data"]["count"]) == ("ferplus/valid", 40)


def test_drift_names_the_faces(
    tiny_artifact: Artifact, blunt: Artifact, made_ferplus: Path
) -> None:
    models = [str(tiny_artifact.path), str(blunt.path), "--data", str(made_ferplus)]
    limits = ["--ece-limit", "1", "--aece-limit", "1"]
    page = run("drift", *models, *limits)
    assert page.lstrip().startswith("tiny  →  blunt on ferplus/valid  the same 40 faces")


def test_a_model_is_compared_with_predictions(
    tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.npz"
    evaluated(str(tiny_artifact.path), made_ferplus, "--save-predictions", str(saved))
    figures = json.loads(
        run(
            "drift", str(saved), str(tiny_artifact.path), "--data", str(made_ferplus), "--json", "-"
        )
    )
    assert figures["change"]["nll"] == 0
    assert figures["size_ratio"] is None


def test_predictions_of_other_faces_are_refused(
    tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    np.savez(tmp_path / "other.npz", logits=np.zeros((40, 8)), labels=np.zeros(40, np.int64))
    with pytest.raises(RankotomError, match="label"):
        run(
            "drift", str(tiny_artifact.path), str(tmp_path / "other.npz"),
            "--data", str(made_ferplus),
        )  # fmt: skip


def test_measuring_a_model_needs_no_torch(tiny_artifact: Artifact, made_ferplus: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None\nfrom rankotom_edge.cli.app import main; main()"
    )
    arguments = ["evaluate", "--model", str(tiny_artifact.path), "--data", str(made_ferplus)]
    finished = subprocess.run(
        [sys.executable, "-c", script, *arguments, "--json", "-", *QUICK],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["n"] == 40
