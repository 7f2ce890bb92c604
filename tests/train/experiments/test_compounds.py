"""Figure 3 of tiny networks, trained for a step, on a small RAF-DB in its official layout."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
import pytest
import torch

from calib.blends import COMPOUNDS
from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from train.checkpoint import load_checkpoint, write_checkpoint
from train.data.datasets import RAFDB_COMPOUND_LABELS, FaceSet, load_dataset
from train.experiments.compounds import compound_votes, main, run_heatmap
from train.loop import train
from train.methods.settings import MethodName
from train.ranks import Ranks
from train.recipe import Recipe
from train.training_set import load_training_faces

MAKE = runpy.run_path(str(Path(__file__).parents[1] / "data" / "test_datasets.py"))


@pytest.fixture(scope="module")
def rafdb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rafdb")
    train_lines = [f"train_{number:05}.jpg {number % 7 + 1}" for number in range(8)]
    basic_test = [f"test_{number:04}.jpg {number % 7 + 1}" for number in range(8)]
    compound_test = [f"test_{number:04}.jpg {number % 11 + 1}" for number in range(13)]
    MAKE["make_rafdb"](root, "basic", *train_lines, *basic_test)
    MAKE["make_rafdb"](root, "compound", *compound_test)
    random = np.random.default_rng(0)
    for picture in root.glob("*/Image/aligned/*.jpg"):
        cv2.imwrite(str(picture), random.integers(0, 256, (20, 20, 3), np.uint8))
    return root


@pytest.fixture(scope="module")
def runs(rafdb: Path, recipe: Recipe, alone: Ranks) -> list[Path]:
    def trained(method: MethodName, channels: Literal[1, 3], size: int) -> Path:
        run = rafdb / "runs" / f"rafdb-{method}"
        ours = replace(
            recipe,
            dataset="rafdb",
            method=method,
            epochs=1,
            face_recognition=False,
            channels=channels,
            size=size,
        )
        faces = load_training_faces(ours, rafdb, rafdb / "framed", check_count=False)
        return train(ours, faces, run, alone).parent

    return [trained("cross-entropy", 1, 16), trained("scn", 3, 24)]


@pytest.fixture
def compounds(rafdb: Path) -> FaceSet:
    return load_dataset("rafdb-compound", rafdb, "test", check_count=False)


def test_a_compounds_name_is_a_vote_for_each_of_its_two_emotions(compounds: FaceSet) -> None:
    votes = compound_votes(compounds, EMOTIONS[:7])
    assert votes.sum(axis=1).tolist() == [2.0] * 13
    assert set(COMPOUNDS.values()) == set(RAFDB_COMPOUND_LABELS)
    sadly_angry = RAFDB_COMPOUND_LABELS.index("sadly angry")
    assert compounds.labels is not None
    (row,) = np.flatnonzero(compounds.labels == sadly_angry)
    assert [EMOTIONS[index] for index in np.flatnonzero(votes[row])] == ["sadness", "anger"]


@pytest.mark.parametrize("index", [0, 1])
def test_a_network_that_always_sees_sadness_and_anger_matches_sadly_angry_alone(
    index: int, runs: list[Path], compounds: FaceSet, rafdb: Path, tmp_path: Path
) -> None:
    checkpoint = load_checkpoint(runs[index] / "checkpoint.safetensors")
    tensors = dict(checkpoint.tensors)
    for key in [key for key in tensors if key.startswith("averaged.fc.")]:
        tensors[key] = torch.zeros_like(tensors[key])
    odds = torch.tensor([1.0, 1.0, 1.0, 8.0, 7.0, 1.0, 1.0]).log()  # of 20; sadness and anger
    tensors["averaged.fc.bias"] = odds * (2 if index else 1)  # SCN's importance is then a half
    write_checkpoint(tmp_path / "checkpoint.safetensors", checkpoint.recipe, 1, tensors)
    result = run_heatmap(tmp_path, compounds, rafdb)
    heatmap = result.heatmap
    assert (result.faces, result.matched) == (13, 1)
    assert len(heatmap.rows) == 11
    assert heatmap.rows[:2] == ("happily surprised", "happily disgusted")  # two faces each
    assert heatmap.matches == tuple(float(name == "sadly angry") for name in heatmap.rows)
    expected = [0.05, 0.05, 0.05, 0.4, 0.35, 0.05, 0.05]
    for row in heatmap.confidence:
        assert row.tolist() == pytest.approx(expected, abs=1e-5)


def test_trained_runs_are_compared_side_by_side(
    runs: list[Path], rafdb: Path, compounds: FaceSet, capsys: pytest.CaptureFixture[str]
) -> None:
    heatmap = run_heatmap(runs[0], compounds, rafdb).heatmap
    plot = rafdb / "figure3.png"
    main(runs, plot, "test", rafdb, check_count=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines[1:3]] == [["1", "rafdb-cross-entropy"], ["2", "rafdb-scn"]]
    assert lines[4] == ["faces", "1", "2"]
    assert [" ".join(line[:2]) for line in lines[5:]] == list(heatmap.rows)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_is_no_run_is_named(rafdb: Path) -> None:
    with pytest.raises(RankotomError, match="it is not the folder of a run"):
        main([rafdb], None, "test", rafdb, check_count=False)
