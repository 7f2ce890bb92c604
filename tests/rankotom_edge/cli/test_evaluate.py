"""``rankotom-edge evaluate`` of predictions files, and of models on a data set."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from calib.errors import RankotomError
from calib.prediction_files import read_predictions
from export.artifact_writer import write_artifact
from rankotom_edge.cli.app import app
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import FacesUsed, ModelCard

QUICK = ["--resamples", "20"]
CONTRACT = {
    "n", "accuracy", "ece", "aece", "mce", "nll", "brier", "top2_match", "temperature",
    "intervals", "bins", "per_class", "model",
}  # fmt: skip
HEAVY = {"torch", "cv2", "mediapipe", "onnxruntime", "matplotlib"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "cache"))


def ask(*arguments: str, status: int = 0) -> str:
    environment = {"COLUMNS": "100", "NO_COLOR": "1"}
    finished = CliRunner(env=environment).invoke(app, [*arguments, *QUICK], catch_exceptions=False)
    assert finished.exit_code == status, finished.output
    return finished.stdout


def evaluated(model: str, data: Path, *arguments: str) -> dict[str, object]:
    figures: dict[str, object] = json.loads(
        ask("evaluate", "--model", model, "--data", str(data), *arguments, "--json", "-")
    )
    return figures


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
    page = ask("evaluate", *model, "--half", "report")
    assert page.lstrip().startswith("tiny on ferplus/valid/report  20 faces")
    assert "Note:" not in page


def test_where_json_has_standard_output_the_note_is_on_standard_error(
    tiny_artifact: Artifact, tiny_card: ModelCard, made_ferplus: Path, tmp_path: Path
) -> None:
    card = replace(tiny_card, calibrated_on=(FacesUsed("ferplus/valid", 40, "1" * 64),))
    model = write_artifact(onnx.load(tiny_artifact.path), card, tmp_path / "fitted.onnx").path
    arguments = ["evaluate", "--model", str(model), "--data", str(made_ferplus), "--json", "-"]
    finished = CliRunner().invoke(app, [*arguments, *QUICK], catch_exceptions=False)
    assert json.loads(finished.stdout)["n"] == 40
    assert finished.stderr.startswith("note: these faces were used to fit")


def test_saved_predictions_give_the_same_metrics(
    tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.npz"
    asked = evaluated(str(tiny_artifact.path), made_ferplus, "--save-predictions", str(saved))
    read = json.loads(ask("evaluate", str(saved), "--json", "-"))
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


def test_measuring_predictions_needs_neither_torch_nor_cv2_nor_matplotlib(
    loaded_modules: Callable[..., Any],
    files: dict[str, Path],
) -> None:
    loaded = loaded_modules("evaluate", str(files["good"]), "--json", "-", *QUICK)
    assert "numpy" in loaded
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{'n' * 300}.csv", "File name too long"),
        (f"{'n' * 300}.npz", "File name too long"),
        ("n" * 300, "File name too long"),
        ("memory.csv", "Input/output error"),
        ("memory.npz", "Input/output error"),
        ("folder", "Expected predictions (.npz or .csv), a model file (.onnx)"),
        ("folder", "folder is a folder."),
        ("notes.txt", "notes.txt is none of these."),
    ],
)
def test_an_unreadable_input_is_an_error_of_one_line(
    run: Callable[..., Any], tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("")
    for suffix in ("csv", "npz"):
        (tmp_path / f"memory.{suffix}").symlink_to("/proc/self/mem")
    finished = run("evaluate", str(tmp_path / name))
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1
    assert words in finished.stderr


def test_a_file_that_is_no_npz_is_an_error_without_a_traceback(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_text("not a zip file")
    finished = run("evaluate", str(broken))
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr


def test_json_on_standard_output_stands_alone_and_keeps_the_contract(
    run: Callable[..., Any],
    files: dict[str, Path],
) -> None:
    figures = json.loads(run("evaluate", str(files["good"]), "--json", "-", *QUICK).stdout)
    assert figures["n"] == 400
    assert {
        "accuracy", "ece", "aece", "mce", "nll", "brier", "top2_match", "temperature",
        "intervals", "floor", "bins", "per_class", "model", "compounds",
    } <= figures.keys()  # fmt: skip
    assert figures["temperature"] is None
    assert len(figures["bins"]) == 15
    assert figures["bins"][0].keys() == {"low", "high", "count", "confidence", "accuracy"}
    low, high = figures["intervals"]["ece"]
    assert 0 <= low <= high <= 1
    assert figures["model"] == {"file": "good.npz"}


def test_without_votes_what_needs_them_is_null(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "bare.npz"
    np.savez(path, probabilities=np.full((20, 4), 0.25), labels=np.arange(20) % 4)
    figures = json.loads(run("evaluate", str(path), "--json", "-", *QUICK).stdout)
    assert figures["top2_match"] is None
    assert figures["compounds"] is None


def test_one_face_and_one_class_are_enough_for_a_report(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "one.npz"
    np.savez(path, probabilities=[[1.0]], labels=[0], votes=[[3]])
    finished = run("evaluate", str(path), *QUICK, "--plot", str(tmp_path / "one.png"))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "one.png").is_file()


def test_csv_is_read_as_npz_is(run: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("probability:sad,probability:glad,label\n0.9,0.1,sad\n0.2,0.8,glad\n")
    figures = json.loads(run("evaluate", str(path), "--json", "-", *QUICK).stdout)
    assert figures["accuracy"] == 1.0
    assert list(figures["per_class"]) == ["sad", "glad"]


def test_the_same_seed_gives_the_same_metrics(
    run: Callable[..., Any], files: dict[str, Path]
) -> None:
    first, second = (
        run("evaluate", str(files["good"]), "--json", "-", *QUICK, "--seed", "7").stdout
        for _ in range(2)
    )
    assert first == second
