"""``rankotom-edge drift`` between predictions files, models, or one of each."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from calib.errors import RankotomError
from export.artifact_writer import write_artifact
from rankotom_edge.cli.app import app
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import ModelCard

QUICK = ["--resamples", "20"]


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


@pytest.fixture(scope="module")
def blunt(
    tiny_artifact: Artifact, tiny_card: ModelCard, tmp_path_factory: pytest.TempPathFactory
) -> Artifact:
    """The same graph at a temperature that leaves no confidence."""
    card = replace(tiny_card, name="blunt", temperature=50.0)
    path = tmp_path_factory.mktemp("blunt") / "blunt.onnx"
    return write_artifact(onnx.load(tiny_artifact.path), card, path)


def test_two_models_are_compared_on_the_same_faces(
    tiny_artifact: Artifact, blunt: Artifact, made_ferplus: Path
) -> None:
    page = ask(
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
    page = ask("drift", *models, *limits)
    assert page.lstrip().startswith("tiny  →  blunt on ferplus/valid  the same 40 faces")


def test_a_model_is_compared_with_predictions(
    tiny_artifact: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.npz"
    evaluated(str(tiny_artifact.path), made_ferplus, "--save-predictions", str(saved))
    figures = json.loads(
        ask(
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
        ask(
            "drift", str(tiny_artifact.path), str(tmp_path / "other.npz"),
            "--data", str(made_ferplus),
        )  # fmt: skip


def test_drift_within_the_limits_exits_with_0(
    run: Callable[..., Any], files: dict[str, Path]
) -> None:
    finished = run("drift", str(files["good"]), str(files["near"]), *QUICK)
    assert finished.returncode == 0
    assert "within every limit" in finished.stdout


def test_drift_past_a_limit_exits_with_1_and_says_why(
    run: Callable[..., Any], files: dict[str, Path]
) -> None:
    finished = run("drift", str(files["good"]), str(files["bad"]), *QUICK)
    assert finished.returncode == 1
    assert "Accuracy fell" in finished.stdout


def test_limits_given_as_options_decide(run: Callable[..., Any], files: dict[str, Path]) -> None:
    loose = ["--ece-limit", "100%", "--aece-limit", "1", "--accuracy-limit", "1.0"]
    finished = run(
        "drift", str(files["good"]), str(files["bad"]), *loose, "--flips-limit", "100%", *QUICK
    )
    assert finished.returncode == 0


def test_drift_writes_json_and_a_picture(
    run: Callable[..., Any], files: dict[str, Path], tmp_path: Path
) -> None:
    picture = tmp_path / "drift.png"
    finished = run(
        *("drift", str(files["good"]), str(files["bad"])),
        *("--json", "-", "--plot", str(picture)),
        *QUICK,
    )
    figures = json.loads(finished.stdout)
    assert {
        "reference", "candidate", "change", "intervals", "flips", "size_ratio",
        "latency_ratio", "verdict",
    } <= figures.keys()  # fmt: skip
    assert figures["verdict"]["passed"] is False
    assert figures["flips"].keys() == {"rate", "broken", "mended"}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_two_files_of_one_name_are_named_by_their_paths(
    run: Callable[..., Any], files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in (("r1", "good"), ("r2", "near")):
        Path(folder).mkdir()
        (Path(folder) / "p.npz").write_bytes(files[name].read_bytes())
    page = run("drift", "r1/p.npz", "r2/p.npz", *QUICK).stdout
    assert page.lstrip().startswith("r1/p.npz  →  r2/p.npz  ")
    assert "before: r1/p.npz" in page
    page = run("drift", str(files["good"]), str(files["near"]), *QUICK).stdout
    assert page.lstrip().startswith("good.npz  →  near.npz  ")


def test_drift_over_different_faces_is_an_error(
    run: Callable[..., Any], files: dict[str, Path], tmp_path: Path
) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, logits=np.zeros((3, 8)), labels=[0, 1, 2])
    finished = run("drift", str(files["good"]), str(other))
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
