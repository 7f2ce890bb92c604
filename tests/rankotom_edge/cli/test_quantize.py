"""``rankotom-edge export --int8`` and ``--fp16``, with labels and without."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from calib.errors import RankotomError
from export.artifact_writer import write_artifact
from export.to_onnx import to_onnx
from rankotom_edge.cli.app import app
from rankotom_edge.model.artifact import Artifact, read_artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.sources.demo import demo_picture, load_portrait
from train.networks import build_network

WIDE = {"COLUMNS": "120", "NO_COLOR": "1"}
ANYTHING = [f"--{name}-limit=100%" for name in ("ece", "aece", "accuracy", "flips")]
NOTHING = [f"--{name}-limit=0" for name in ("ece", "aece", "accuracy", "flips")]


def run(*arguments: object) -> Result:
    return CliRunner(env=WIDE).invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture(autouse=True, scope="module")
def _no_data_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nor a cache of made-up faces among it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKOTOM_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 photos of one face, moved and lit."""
    folder = tmp_path_factory.mktemp("photos") / "album"
    folder.mkdir()
    for number in range(120):
        seen = demo_picture(load_portrait(), 0.7 * number, (320, 240))
        lit = cv2.convertScaleAbs(seen, alpha=0.8 + 0.2 * np.cos(number), beta=20 * np.sin(number))
        cv2.imwrite(str(folder / f"{number:03}.png"), lit)
    return folder


@pytest.fixture(scope="module")
def narrow(tiny_card: ModelCard, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Untrained, and large enough to become smaller."""
    torch.manual_seed(0)
    network = build_network("edge-narrow", channels=1, classes=8, dropout=0.0)
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
    model = to_onnx(network.eval(), tiny_card.crop, mirror=True)
    path = tmp_path_factory.mktemp("narrow") / "narrow.onnx"
    return write_artifact(model, replace(tiny_card, name="narrow"), path)


@pytest.fixture(scope="module")
def exported(
    narrow: Artifact, made_ferplus: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("exported")
    result = run(
        "export", narrow.path, "--int8", "--target", "x86", "--data", made_ferplus,
        "-o", folder / "narrow-int8.onnx", "--json", folder / "report.json",
        "--plot", folder / "report.png", "--allow-slower", "--resamples", 20, *ANYTHING,
    )  # fmt: skip
    return folder, result


def test_a_candidate_within_its_limits_is_written_and_the_page_says_so(
    exported: tuple[Path, Result],
) -> None:
    folder, result = exported
    assert result.exit_code == 0, result.output
    card = read_artifact(folder / "narrow-int8.onnx").card
    assert (card.name, card.precision, card.targets) == ("narrow-int8", "int8", ("x86",))
    for words in (
        "narrow  →  narrow-int8",
        "Yes: within every limit",
        "How it was made",
        "x86 CPUs",
        "Calibrations tried",
        "percentile 99.999",
        "times as",
    ):
        assert words in result.stdout


def test_its_json_is_a_drifts_document_and_how_it_was_made(exported: tuple[Path, Result]) -> None:
    folder, _ = exported
    document = json.loads((folder / "report.json").read_text())
    assert document.keys() >= {"reference", "candidate", "change", "flips", "verdict", "data"}
    assert document["latency_ratio"] > 0
    assert document["size_ratio"] < 1
    made = document["export"]
    assert made["file"] == str(folder / "narrow-int8.onnx")
    assert made["targets"] == ["x86"]
    assert len(made["tried"]) == 4
    assert made["calibration"] in [each["calibration"] for each in made["tried"]]
    assert made["layers_in_fp32"] == ["conv1"]
    assert made["restored"] == []
    assert made["latency_ms"]["judged"] is False


def test_its_picture_is_drawn(exported: tuple[Path, Result]) -> None:
    folder, _ = exported
    assert cv2.imread(str(folder / "report.png")) is not None


def test_drift_prints_the_same_for_the_two_files(
    exported: tuple[Path, Result], narrow: Artifact, made_ferplus: Path
) -> None:
    folder, _ = exported
    result = run(
        "drift", narrow.path, folder / "narrow-int8.onnx", "--data", made_ferplus,
        "--half", "report", "--resamples", 20, "--json", folder / "drift.json", *ANYTHING,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    drift, export = (
        json.loads((folder / name).read_text()) for name in ("drift.json", "report.json")
    )
    assert drift["change"] == pytest.approx(export["change"], abs=1e-6)
    assert drift["flips"] == export["flips"]
    assert drift["size_ratio"] == pytest.approx(export["size_ratio"])
    assert drift["latency_ratio"] > 0


def test_when_the_gate_says_no_the_status_is_1_and_there_is_no_file(
    narrow: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "narrow-int8.onnx"
    command = ("export", narrow.path, "--int8", "--target", "x86", "--data", made_ferplus)
    result = run(*command, "-o", output, "--resamples", 20, "--keep-rejected", *NOTHING)
    assert result.exit_code == 1
    for words in ("✗ No", "Layers to blame", "rejected"):
        assert words in result.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["narrow-int8.rejected.onnx"]


def test_fp16_needs_the_same_data_and_is_for_a_gpu(
    narrow: Artifact, made_ferplus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "narrow-fp16.onnx"
    result = run(
        "export", narrow.path, "--fp16", "--data", made_ferplus, "-o", output,
        "--resamples", 20, *ANYTHING,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert read_artifact(output).card.targets == ("tensorrt",)
    assert "not judged" in result.stdout


def test_without_data_it_says_how_to_do_without_labels(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"No FERPlus in .*--unlabelled DIR.*not ECE"):
        run("export", "--int8", "--data", tmp_path, "-o", tmp_path / "out.onnx")


def test_pictures_of_noise_are_not_mistaken_for_faces(made_ferplus: Path, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="not what it was trained for"):
        run("export", "--int8", "--data", made_ferplus, "-o", tmp_path / "out.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def unlabelled(album: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    output = tmp_path_factory.mktemp("unlabelled") / "own.onnx"
    command = ("export", "--int8", "--target", "x86", "--unlabelled", album, "--allow-slower")
    report = output.with_suffix(".json")
    return output, run(*command, "-o", output, "--json", report, "--flips-limit", "20%")


def test_without_labels_agreement_is_checked_and_the_page_says_that_ece_is_not(
    unlabelled: tuple[Path, Result],
) -> None:
    output, result = unlabelled
    assert result.exit_code == 0, result.output
    assert "accuracy and ECE not checked" in result.stdout
    assert "It predicts as its parent does" in result.stdout
    assert "Yes" not in result.stdout
    document = json.loads(output.with_suffix(".json").read_text())
    assert document["not_checked"] == ["accuracy", "ece"]
    assert document["verdict"]["passed"] is True


def test_a_file_made_without_labels_says_so_in_every_report(
    unlabelled: tuple[Path, Result],
) -> None:
    output, _ = unlabelled
    card = read_artifact(output).card
    assert card.quantization["ece_checked"] is False
    assert [faces.name for faces in card.calibrated_on] == [
        "ferplus/valid/choose",
        "album/calibrate",
    ]
    page = run("models", output).stdout
    assert "the metrics below are the parent's" in " ".join(page.split())


def test_it_runs_without_torch(narrow: Artifact, made_ferplus: Path, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None\nfrom rankotom_edge.cli.app import main; main()"
    )
    command = [
        sys.executable, "-c", script, "export", str(narrow.path), "--fp16", "--data",
        str(made_ferplus), "-o", str(tmp_path / "half.onnx"), "--resamples", "20", *ANYTHING,
    ]  # fmt: skip
    finished = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **WIDE}, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "half.onnx").exists()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_stopped_half_way_it_leaves_nothing_behind_and_ends_with_130(
    album: Path, tmp_path: Path, sent: signal.Signals
) -> None:
    output, scratch = tmp_path / "out.onnx", tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", "export", "--int8", "--unlabelled", str(album),
         "-o", str(output)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    end = time.monotonic() + 60
    while not list(scratch.rglob("augmented.onnx")) and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == [scratch]
    assert list(scratch.iterdir()) == []
