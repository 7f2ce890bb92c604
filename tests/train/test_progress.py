"""The progress bar of a run, and its metrics file."""

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from calib.errors import RankotomError
from train.progress import EpochRecord, OverallProgress, RunLog, read_metrics
from train.recipe import Recipe

THRESHOLDS = torch.tensor([0.95, 0.5, 0.25])
# Two faces of three right, all at the same confidence.
LOGITS = torch.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
LABELS = np.array([0, 1, 2])
CONFIDENCE = np.exp(2) / (np.exp(2) + 2)


def log_epoch(log: RunLog, epoch: int, loss: float = 1.0) -> None:
    log.start_epoch(epoch, steps=2)
    log.step(loss, 8, 2)
    log.step(loss + 1, 8, 4)
    log.end_epoch({"thresholds": THRESHOLDS}, LOGITS, LABELS)


def test_a_row_has_the_means_and_metrics_of_its_epoch(tmp_path: Path, recipe: Recipe) -> None:
    with RunLog(tmp_path / "run", recipe, done=0, enabled=True) as log:
        log_epoch(log, 0)
    (row,) = read_metrics(tmp_path / "run")
    assert row["epoch"] == "1"
    assert float(row["loss"]) == 1.5
    assert float(row["pseudo_labelled"]) == 6 / 16
    assert float(row["accuracy"]) == pytest.approx(2 / 3, abs=1e-5)
    assert float(row["ece"]) == pytest.approx(CONFIDENCE - 2 / 3, abs=1e-5)
    assert float(row["ece_at_temperature"]) == pytest.approx(0, abs=1e-3)
    assert float(row["temperature"]) == pytest.approx(2 / np.log(4), abs=0.01)
    assert row["thresholds"] == "0.950 0.500 0.250"


def test_without_faces_to_label_none_were_labelled(tmp_path: Path, recipe: Recipe) -> None:
    with RunLog(tmp_path, recipe, done=0, enabled=True) as log:
        log.start_epoch(0, steps=1)
        log.step(1.0, 0, 4)
        log.end_epoch({"thresholds": THRESHOLDS}, LOGITS, LABELS)
    assert float(read_metrics(tmp_path)[0]["pseudo_labelled"]) == 0


def test_the_recipe_is_written_next_to_the_metrics(tmp_path: Path, recipe: Recipe) -> None:
    with RunLog(tmp_path / "deep" / "run", recipe, done=0, enabled=True):
        pass
    written = json.loads((tmp_path / "deep" / "run" / "recipe.json").read_text())
    assert written == json.loads(recipe.as_json())


def test_the_row_of_a_repeated_epoch_is_replaced(tmp_path: Path, recipe: Recipe) -> None:
    with RunLog(tmp_path, recipe, done=0, enabled=True) as log:
        log_epoch(log, 0)
        log_epoch(log, 1, loss=5.0)
    with RunLog(tmp_path, recipe, done=1, enabled=True) as log:
        log_epoch(log, 1, loss=3.0)
    rows = read_metrics(tmp_path)
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert [float(row["loss"]) for row in rows] == [1.5, 3.5]


def test_resuming_is_announced(
    tmp_path: Path, recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunLog(tmp_path, recipe, done=1, enabled=True):
        pass
    with RunLog(tmp_path, recipe, done=2, enabled=True):
        pass
    shown = capsys.readouterr().err
    assert f"{tmp_path} has 1 of 2 epochs; resuming" in shown
    assert f"{tmp_path} has 2 of 2 epochs already" in shown


def test_other_ranks_write_and_print_nothing(
    tmp_path: Path, recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunLog(tmp_path / "run", recipe, done=1, enabled=False) as log:
        log.start_epoch(0, steps=1)
        log.step(1.0, 8, 8)
    assert not (tmp_path / "run").exists()
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar_with_the_loss(
    tmp_path: Path,
    recipe: Recipe,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    with RunLog(tmp_path, recipe, done=0, enabled=True) as log:
        log_epoch(log, 0)
        log.start_epoch(1, steps=2)
        log.step(1.0, 8, 2)
        log.live.refresh()
    shown = capsys.readouterr().err
    for words in (
        "epoch 2/2",
        "1/2",
        "loss 1.000",
        "pseudo-labelled 25%",
    ):
        assert words in shown


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_ends_the_run(
    tmp_path: Path, recipe: Recipe, loss: float
) -> None:
    with RunLog(tmp_path, recipe, done=0, enabled=True) as log:
        log.start_epoch(0, steps=1)
        with pytest.raises(RankotomError, match=rf"became {loss} in epoch 1.*learning rate"):
            log.step(loss, 0, 0)


def test_a_folder_that_cannot_be_created_is_a_clear_error(tmp_path: Path, recipe: Recipe) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RankotomError, match=r"file/run cannot be created.*--run"),
        RunLog(tmp_path / "file" / "run", recipe, done=0, enabled=True),
    ):
        pass


def test_a_folder_without_metrics_has_no_rows(tmp_path: Path) -> None:
    assert read_metrics(tmp_path) == []


def test_several_runs_share_a_bar_that_leaves_out_what_was_done_before(
    tmp_path: Path, recipe: Recipe, capsys: pytest.CaptureFixture[str]
) -> None:
    overall = OverallProgress([1.0, 3.0], epochs=2)
    (task,) = overall.bar.tasks
    assert task.total == 8

    overall.start_run("cheap, seed 0", 1.0)
    with RunLog(tmp_path / "one", recipe, done=1, enabled=True, overall=overall) as log:
        assert task.total == 7
        log_epoch(log, 1)
    assert task.completed == pytest.approx(1)

    overall.start_run("dear, seed 0", 3.0)
    with RunLog(tmp_path / "two", recipe, done=0, enabled=True, overall=overall) as log:
        log_epoch(log, 0)
    assert task.completed == pytest.approx(4)
    shown = capsys.readouterr().err
    assert shown.index("run 1/2  cheap, seed 0") < shown.index("has 1 of 2 epochs; resuming")
    assert "run 2/2  dear, seed 0" in shown


@pytest.mark.parametrize(
    "row", ["two,1,1,1,1,1,1,1,1,,", "2,1,1,1,1,x,1,1,1,,", "2,1", "2,1,1,1,1,1,1,1,1,a b,", "\xff"]
)
def test_a_damaged_log_is_named(tmp_path: Path, row: str) -> None:
    names = [each.name for each in fields(EpochRecord)]
    (tmp_path / "metrics.csv").write_bytes(f"{','.join(names)}\n{row}\n".encode("latin-1"))
    with pytest.raises(RankotomError, match=r"metrics\.csv is not as this program writes it"):
        read_metrics(tmp_path)
