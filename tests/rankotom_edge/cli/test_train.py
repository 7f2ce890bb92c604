"""``rankotom-edge train`` on a FERPlus of 32 faces in its official layout."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.cli.app import main
from train.recipe import RECIPES, Recipe

SETTINGS: dict[str, Any] = {
    "name": "tiny",
    "network": "edge-narrow",
    "size": 16,
    "channels": 1,
    "batch": 8,
    "epochs": 2,
    "face_recognition": False,
}
TINY = Recipe(**SETTINGS)
# The command in a process of its own, with the recipe above added to the real ones.
SCRIPT = """
import sys
from train.recipe import RECIPES, Recipe
RECIPES["tiny"] = Recipe(**{settings})
if __name__ == "__main__":
    from rankotom_edge.cli.app import main
    main()
"""


class Finished(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str) -> Finished:
    output, errors = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["rankotom-edge", "train", *arguments])
        patch.setenv("COLUMNS", "200")
        patch.setitem(RECIPES, "tiny", TINY)
        with pytest.raises(SystemExit) as ended:
            main()
    return Finished(int(ended.value.code or 0), output.getvalue(), errors.getvalue())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    root = folder / "FERPlus"
    random = np.random.default_rng(0)
    rows = [f"Usage,Image name,{','.join(EMOTIONS)},unknown,NF"]
    for usage, part, count in (
        ("Training", "FER2013Train", 32),
        ("PublicTest", "FER2013Valid", 16),
    ):
        (root / "data" / part).mkdir(parents=True)
        for number in range(count):
            votes = ",".join("10" if index == number % 8 else "0" for index in range(8))
            rows.append(f"{usage},fer{number:07}.png,{votes},0,0")
            face = random.integers(0, 256, (48, 48), dtype=np.uint8)
            cv2.imwrite(str(root / "data" / part / f"fer{number:07}.png"), face)
    (root / "fer2013new.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.py"
    path.write_text(SCRIPT.format(settings=SETTINGS))
    return path


def test_list_shows_every_recipe_and_what_it_is_for() -> None:
    finished = run("--list")
    assert finished.returncode == 0
    for words in ("paper-ferplus", "paper-rafdb", "paper-affectnet", "edge-ferplus", "embedded"):
        assert words in finished.stdout


def test_a_run_ends_with_its_checkpoint_and_metrics(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["tiny", "--data", str(data), "--no-check-count", "--seed", "3", "--threads", "1"]
    finished = run(*command)
    assert finished.returncode == 0, finished.stderr
    checkpoint = Path("runs/tiny-seed3/checkpoint.safetensors")
    assert checkpoint.exists()
    assert str(checkpoint) in finished.stdout
    assert "On the 8 faces of the choose half" in finished.stdout
    assert "epoch 2/2" in finished.stderr
    assert len(list((data / "framed").glob("*.npy"))) == 2

    before = checkpoint.read_bytes()
    again = run(*command, "--json", "-")
    assert "has 2 of 2 epochs already" in again.stderr
    assert checkpoint.read_bytes() == before
    figures = json.loads(again.stdout)
    assert figures["checkpoint"] == str(checkpoint)
    assert figures["epoch"] == 2
    assert 0 <= figures["accuracy"] <= 1
    assert figures["thresholds"].keys() == set(EMOTIONS)

    other = run(*command, "--epochs", "5", "--network", "edge")
    assert other.returncode == 2
    assert "epochs 2 (not 5), network edge-narrow (not edge)" in other.stderr
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["papper"], "There is no recipe 'papper'. Choose one of paper-ferplus"),
        (["tiny", "--network", "vgg"], "There is no network 'vgg'. Choose one of resnet18"),
        (["paper-rafdb", "--data", "{empty}"], "No RAF-DB in {empty}"),
        (["tiny", "--data", "{data}"], "should have 28,558 pictures"),
        (["edge-ferplus", "--data", "{data}", "--no-check-count"], "No LFW in {data}"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    arguments: list[str], words: str, data: Path, tmp_path: Path
) -> None:
    names = {"data": str(data), "empty": str(tmp_path)}
    folder = tmp_path / "run"
    finished = run(*(each.format(**names) for each in arguments), "--run", str(folder))
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1
    assert words.format(**names) in finished.stderr
    assert not folder.exists()


def test_no_recipe_is_bad_usage() -> None:
    finished = run()
    assert finished.returncode == 2
    assert "--list" in finished.stderr


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    finished = run("tiny")
    assert finished.returncode == 2
    assert finished.stderr.count("\n") == 1
    assert "pip install 'rankotom-edge[train]'" in finished.stderr


def test_an_interrupt_ends_with_130_and_names_the_checkpoint(
    data: Path, tmp_path: Path, script: Path
) -> None:
    folder = tmp_path / "run"
    options = ["--data", str(data), "--no-check-count", "--run", str(folder), "--epochs", "5000"]
    process = subprocess.Popen(
        [sys.executable, str(script), "train", "tiny", *options, "--threads", "1"],
        stderr=subprocess.PIPE,
        text=True,
    )
    checkpoint = folder / "checkpoint.safetensors"
    patience_ends = time.monotonic() + 200
    while not checkpoint.exists() and process.poll() is None:
        assert time.monotonic() < patience_ends
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 130, errors
    assert f"the last checkpoint is {checkpoint}" in errors
    assert "Traceback" not in errors


def under_torchrun(script: Path, *options: str) -> subprocess.CompletedProcess[str]:
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--"]
    return subprocess.run(
        [sys.executable, "-m", *torchrun, str(script), "train", "tiny", *options],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=300,
        check=False,
    )


def test_the_same_command_runs_under_torchrun_and_reports_once(
    data: Path, tmp_path: Path, script: Path
) -> None:
    options = ["--data", str(data), "--no-check-count", "--run", str(tmp_path / "run")]
    finished = under_torchrun(script, *options)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("checkpoint.safetensors") == 1
    assert finished.stderr.count("epoch 2/2") == 1
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "checkpoint.safetensors",
        "metrics.csv",
        "recipe.json",
    ]


def test_under_torchrun_too_bad_input_is_an_error_without_a_traceback(
    tmp_path: Path, script: Path
) -> None:
    finished = under_torchrun(script, "--data", str(tmp_path))
    assert finished.returncode != 0
    assert finished.stderr.count("error: No FERPlus in") == 1
    assert "[rank1]: Traceback" not in finished.stderr
