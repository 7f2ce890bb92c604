"""How predictions are named, and what is noted about the faces behind them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from typer.testing import CliRunner

from export.artifact_writer import write_artifact
from rankotom_edge.cli.app import app
from rankotom_edge.cli.predictions import calibration_caveat
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import FacesUsed, ModelCard

QUICK = ["--resamples", "20"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "cache"))


def ask(*arguments: str, status: int = 0) -> str:
    environment = {"COLUMNS": "100", "NO_COLOR": "1"}
    finished = CliRunner(env=environment).invoke(app, [*arguments, *QUICK], catch_exceptions=False)
    assert finished.exit_code == status, finished.output
    return finished.stdout


@pytest.mark.parametrize(
    ("fitted", "arguments", "words"),
    [
        (
            "ferplus/valid/choose",
            [],
            "some of these faces were used to fit the temperature; for an unbiased result, use",
        ),
        (
            "ferplus/valid/choose",
            ["--half", "choose"],
            "these faces were used to fit the temperature; for an unbiased result, use --half",
        ),
        (
            "ferplus/valid",
            ["--half", "report"],
            "these faces were used to fit the temperature; for an unbiased result, use other",
        ),
        ("ferplus/valid/choose", ["--half", "report"], None),
        ("ferplus/valid/choose", ["--split", "test"], None),
    ],
)
def test_faces_that_fitted_the_temperature_are_noted(
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
        page = " ".join(ask(*command, "--data", str(made_ferplus), *arguments).split())
        assert page.count("Note: ") == (words is not None)
        assert f"Note: {words}" in page or words is None


def test_the_same_faces_are_recognised_under_another_name() -> None:
    here, there = (FacesUsed(name, 20, "1" * 64) for name in ("mine/valid", "ferplus/choose"))
    assert str(calibration_caveat(here, [there])).startswith("these faces were used to fit")
    assert calibration_caveat(replace(here, sha256="2" * 64), [there]) is None


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("ferplus/valid", 3_579, "1,790 of these 3,579 faces were used"),
        ("ferplus/valid", 2_000, "some of these faces were used"),
        ("ferplus/valid", 240, "some of these faces were used"),
        ("mine/valid", 3_579, "some of these faces were used"),
    ],
)
def test_the_overlap_is_counted_only_if_the_split_is_complete(
    name: str, count: int, words: str
) -> None:
    fitted = FacesUsed(f"{name}/choose", 1_790, "1" * 64)
    assert str(calibration_caveat(FacesUsed(name, count, "2" * 64), [fitted])).startswith(words)


@pytest.mark.parametrize("command", ["evaluate", "drift"])
@pytest.mark.parametrize(
    "option",
    [["--split", "test"], ["--dataset", "ferplus"], ["--data", "/"], ["--half", "report"]],
)
def test_options_about_faces_are_refused_with_predictions(
    run: Callable[..., Any], files: dict[str, Path], command: str, option: list[str]
) -> None:
    named = [str(files["good"])] + ([str(files["near"])] if command == "drift" else [])
    finished = run(command, *named, *option, *QUICK, COLUMNS="500")
    assert finished.returncode == 2
    assert f"leave out {option[0]}, as" in finished.stderr
