"""Every row is trained and measured on the same faces, in each data set's official layout."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import typer
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

import rankotom_edge.sources
from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.evaluation import Estimate
from calib.intervals import share_interval
from rankotom_edge.faces.detector import FaceDetector
from train.experiments.table1 import ROWS, STARTS, find_rows, main, share_of_pairs

TRAIN, VALID = 72, 24  # faces; a batch has 64


@pytest.fixture(scope="module")
def portrait() -> NDArray[np.uint8]:
    """A head with room around it, 250 x 250, as in LFW."""
    picture = cv2.imread(str(Path(rankotom_edge.sources.__file__).parent / "eileen-collins.jpg"))
    assert picture is not None
    with FaceDetector() as detector:
        x, y, width, height = detector.detect(picture)[0].box
    side = 2 * int(max(width, height))
    left, top = (
        max(0, int(start + size / 2 - side / 2)) for start, size in ((x, width), (y, height))
    )
    return np.asarray(
        cv2.resize(picture[top : top + side, left : left + side], (250, 250)), np.uint8
    )


@pytest.fixture(scope="module")
def data(portrait: NDArray[np.uint8], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FERPlus, RAF-DB, AffectNet and LFW in their official layouts, all of one person."""
    folder = tmp_path_factory.mktemp("data")
    face = portrait[50:200, 50:200]

    def picture(path: Path, pixels: NDArray[np.uint8], number: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), (pixels * (0.5 + 0.5 * number / TRAIN)).astype(np.uint8))

    for number in range(8):
        picture(folder / f"lfw/One_{number}/One_{number}_0001.jpg", portrait, 8 * number)
    rows = ["Usage,Image name," + ",".join(EMOTIONS) + ",unknown,NF"]
    for usage, part, count in (("Training", "Train", TRAIN), ("PublicTest", "Valid", VALID)):
        for number in range(count):
            name = f"fer{number:07}.png"
            picture(folder / f"FERPlus/data/FER2013{part}/{name}", face, number)
            votes = [0] * 8
            votes[number % 8], votes[(number + 1) % 8] = (6, 4) if number % 3 else (9, 1)
            rows.append(",".join(map(str, [usage, name, *votes, 0, 0])))
    (folder / "FERPlus/fer2013new.csv").write_text("\n".join(rows) + "\n")

    labels = []
    for prefix, count in (("train", TRAIN), ("test", VALID)):
        for number in range(count):
            stem = f"{prefix}_{number:05}"
            picture(folder / f"RAF-DB/basic/Image/aligned/{stem}_aligned.jpg", face, number)
            labels.append(f"{stem}.jpg {number % 7 + 1}")
    (folder / "RAF-DB/basic/EmoLabel").mkdir()
    (folder / "RAF-DB/basic/EmoLabel/list_patition_label.txt").write_text("\n".join(labels) + "\n")

    for part, count in (("train_set", TRAIN), ("val_set", VALID)):
        (folder / f"AffectNet/{part}/annotations").mkdir(parents=True)
        for number in range(count):
            picture(folder / f"AffectNet/{part}/images/{number}.jpg", face, number)
            annotation = folder / f"AffectNet/{part}/annotations/{number}_exp.npy"
            np.save(annotation, np.array(str(number % 8)))
    return folder


Run = Callable[..., Result]


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Run:
    app = typer.Typer()
    app.command()(main)

    def start(*options: str) -> Result:
        common = ["--data", str(data), "--runs", str(tmp_path), "--no-check-count"]
        result = CliRunner().invoke(app, [*common, "--epochs", "1", *options])
        assert result.exception is None, result.exception
        return result

    return start


def test_all_rows_of_a_start_share_everything_but_the_method() -> None:
    own = {"blends", "ranking_weight", "face_recognition", "method", "mbls"}
    more = {
        "cross-entropy, votes": {"targets"},
        "Rank-O-ToM, ours": {"targets", "loss", "ranking", "partners"},
    }
    plain = asdict(ROWS[0].recipe(STARTS["faces"]))
    for row in ROWS:
        other = asdict(row.recipe(STARTS["faces"]))
        changed = {key for key in plain if plain[key] != other[key]}
        assert changed <= own | more.get(row.name, set()), row.name


def test_each_row_has_a_folder_of_its_own() -> None:
    folders = {
        row.folder(replace(row.recipe(base), seed=seed))
        for base in STARTS.values()
        for row in ROWS
        for seed in (0, 1)
    }
    assert len(folders) == len(STARTS) * len(ROWS) * 2
    assert "ferplus-table1-faces-rank-o-tom-paper-seed1" in folders


def test_methods_that_need_votes_are_left_out_where_there_are_none() -> None:
    names = [row.name for row in find_rows((), "rafdb")]
    assert "Rank-O-ToM, paper" in names
    assert not {"CRL, votes", "Rank-O-ToM, ours"} & set(names)
    with pytest.raises(RankotomError, match="no row 'CRL, votes'"):
        find_rows(["CRL, votes"], "affectnet")


def test_ferplus_gets_every_row_with_every_figure(run: Run, tmp_path: Path) -> None:
    written, plot = tmp_path / "table.json", tmp_path / "plot.png"
    options = ("--seeds", "2", "--json", str(written), "--plot", str(plot))
    shown = run(*options)
    table = json.loads(written.read_text())
    assert [(each["row"], each["seed"]) for each in table["results"]] == [
        (row.name, seed) for seed in (0, 1) for row in ROWS
    ]
    assert table["setting"]["faces"] == TRAIN
    assert table["setting"]["measured"] == VALID // 2
    first = table["results"][0]
    assert first["raw"]["ece"]["interval"] is not None
    assert first["scaled"]["temperature"]["value"] > 0
    for name in ("clear_order", "order"):
        low, high = first["scaled"][name]["interval"]
        assert 0 <= low <= first["scaled"][name]["value"] <= high <= 1
    assert set(table["step_seconds"]) == {row.name for row in ROWS}
    assert table["paper"]["percent"]["RAC"]["ece"] == 19.73
    assert "| SCN |" in shown.output
    assert plot.read_bytes().startswith(b"\x89PNG")

    # The same command again trains nothing, and finds the same.
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("logits.npz")}
    assert len(before) == 2 * len(ROWS)
    run(*options)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("logits.npz")} == before
    assert json.loads(written.read_text())["results"] == table["results"]


@pytest.mark.parametrize("dataset", ["rafdb", "affectnet"])
def test_other_data_sets_go_through_the_same_command(
    dataset: str, run: Run, tmp_path: Path
) -> None:
    written = tmp_path / "table.json"
    chosen = ("--only", "EAC", "--only", "Rank-O-ToM, paper", "--network", "edge-narrow")
    run("--dataset", dataset, *chosen, "--size", "32", "--seeds", "1", "--json", str(written))
    table = json.loads(written.read_text())
    assert [each["row"] for each in table["results"]] == ["EAC", "Rank-O-ToM, paper"]
    assert table["results"][0]["scaled"]["top2_match"]["value"] is None  # nobody voted
    assert "clear_order" not in table["results"][0]["scaled"]
    assert table["setting"]["dataset"] == dataset


def test_a_start_and_its_weights_go_together(data: Path) -> None:
    with pytest.raises(RankotomError, match="start_weights"):
        main(start="faces", data=data)
    with pytest.raises(RankotomError, match="--start random has none"):
        main(start="random", weights=data, data=data)


def test_the_interval_of_an_order_counts_each_blend_once() -> None:
    above = np.array([[True] * 8, [True] * 6 + [False] * 2])
    share = share_of_pairs(above)
    assert share.value == 14 / 16
    assert share.interval == share_interval(7, 8)
    assert share_of_pairs(above[:, :0]) == Estimate(None)


def test_two_processes_share_the_runs_and_one_of_them_prints_the_table(
    data: Path, tmp_path: Path
) -> None:
    command = (
        "-m torch.distributed.run --standalone --nproc-per-node 2 -m train.experiments.table1 "
        f"--data {data} --runs {tmp_path} --no-check-count --seeds 1 --epochs 1 "
        f"--json {tmp_path / 'table.json'} --only SCN --only"
    ).split()
    ended = subprocess.run(
        [sys.executable, *command, "Rank-O-ToM, paper"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("**As trained**") == 1
    table = json.loads((tmp_path / "table.json").read_text())
    assert [each["row"] for each in table["results"]] == ["SCN", "Rank-O-ToM, paper"]
