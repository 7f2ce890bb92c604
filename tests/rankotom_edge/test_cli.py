"""The command line as a person meets it: what it prints, where, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge import __version__
from rankotom_edge.cli import main

HEAVY = {"torch", "cv2", "mediapipe", "onnxruntime", "numpy", "matplotlib"}
QUICK = ["--resamples", "50"]


class Finished(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, **environment: str) -> Finished:
    """In this process, as the console script does it: quick, with real files and real output."""
    output, errors = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["rankotom-edge", *arguments])
        for name, value in {"COLUMNS": "80", "NO_COLOR": "1", **environment}.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    return Finished(int(ended.value.code or 0), output.getvalue(), errors.getvalue())


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", **environment},
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three models on the same 400 faces: one, nearly the same one, and a far worse one."""
    folder = tmp_path_factory.mktemp("predictions")
    random = np.random.default_rng(0)
    logits = random.normal(scale=2.0, size=(400, 8))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([random.choice(8, p=row) for row in shares])
    votes = np.array([random.multinomial(10, row) for row in shares])
    paths = {}
    for name, noise in (("good", 0.0), ("near", 1e-4), ("bad", 3.0)):
        noisy = logits + random.normal(scale=noise, size=logits.shape)
        paths[name] = folder / f"{name}.npz"
        np.savez(paths[name], logits=noisy, labels=labels, votes=votes)
    return paths


def loaded_modules(*arguments: str) -> set[str]:
    """The top-level modules in a fresh interpreter once the command has run."""
    script = (
        "import sys; from rankotom_edge.cli import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return set(finished.stdout.rpartition("LOADED")[2].split())


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_modules("--help")
    assert "typer" in loaded
    assert not loaded & HEAVY


def test_a_commands_help_loads_nothing_heavy() -> None:
    assert not loaded_modules("drift", "--help") & HEAVY


def test_measuring_predictions_needs_neither_torch_nor_cv2_nor_matplotlib(
    files: dict[str, Path],
) -> None:
    loaded = loaded_modules("evaluate", str(files["good"]), "--json", "-", *QUICK)
    assert "numpy" in loaded
    assert not loaded & (HEAVY - {"numpy"})


def test_help_shows_each_command_with_an_example() -> None:
    page = run("--help").stdout
    for command in ("evaluate", "drift"):
        assert f"rankotom-edge {command} " in page
    assert "Calibration" in page


def test_without_arguments_the_help_is_shown() -> None:
    assert "Usage: rankotom-edge" in run().stdout


def test_version_is_printed() -> None:
    assert start("--version").stdout == f"rankotom-edge {__version__}\n"


def test_an_unknown_command_is_bad_usage_and_suggests_the_nearest() -> None:
    finished = run("evaluat")
    assert finished.returncode == 2
    assert "evaluate" in finished.stderr


def test_an_error_is_one_line_without_a_traceback() -> None:
    finished = start("evaluate", "nowhere.npz")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert "nowhere.npz" in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--debug", "evaluate", "nowhere.npz"], ["evaluate", "nowhere.npz", "--debug"]]
)
def test_debug_lets_the_error_through_wherever_it_stands(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["rankotom-edge", *arguments])
    with pytest.raises(RankotomError, match=r"nowhere\.npz"):
        main()


def test_a_file_that_is_no_npz_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_text("not a zip file")
    finished = run("evaluate", str(broken))
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr


def test_an_interrupt_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting.csv"
    os.mkfifo(waiting)
    script = (
        "import sys, calib.predictions as predictions\n"
        "from rankotom_edge.cli import main\n"
        "def read(path):\n    print('reading', flush=True)\n    open(path).read()\n"
        "predictions.read_predictions = read\n"
        "main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "evaluate", str(waiting)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_a_reader_that_stops_early_is_no_error(files: dict[str, Path]) -> None:
    """``rankotom-edge evaluate … | head -1``."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli", "evaluate", str(files["good"]), *QUICK],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    os.close(write_end)
    assert finished.stderr == ""


def test_a_terminal_without_unicode_gets_the_report_all_the_same(files: dict[str, Path]) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    finished = start("evaluate", str(files["good"]), *QUICK, **ascii_only)
    assert finished.returncode == 0
    assert "accuracy" in finished.stdout


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", ["evaluate", "drift"])
def test_no_line_of_a_report_is_wider_than_the_terminal(
    files: dict[str, Path], command: str, columns: int
) -> None:
    named = [str(files["good"])] + ([str(files["near"])] if command == "drift" else [])
    lines = run(command, *named, *QUICK, COLUMNS=str(columns)).stdout.splitlines()
    assert len(lines) > 30
    assert max(map(len, lines)) <= columns
    assert not any("…" in line and " … " not in line for line in lines), "text was cut off"


def test_a_pipe_gets_no_colour(files: dict[str, Path]) -> None:
    assert "\x1b" not in start("evaluate", str(files["good"]), *QUICK).stdout


def test_json_on_standard_output_stands_alone_and_keeps_the_contract(
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


def test_without_votes_what_needs_them_is_null(tmp_path: Path) -> None:
    path = tmp_path / "bare.npz"
    np.savez(path, probabilities=np.full((20, 4), 0.25), labels=np.arange(20) % 4)
    figures = json.loads(run("evaluate", str(path), "--json", "-", *QUICK).stdout)
    assert figures["top2_match"] is None
    assert figures["compounds"] is None


def test_one_face_and_one_class_are_enough_for_a_report(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    np.savez(path, probabilities=[[1.0]], labels=[0], votes=[[3]])
    finished = run("evaluate", str(path), *QUICK, "--plot", str(tmp_path / "one.png"))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "one.png").is_file()


def test_csv_is_read_as_npz_is(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("probability:sad,probability:glad,label\n0.9,0.1,sad\n0.2,0.8,glad\n")
    figures = json.loads(run("evaluate", str(path), "--json", "-", *QUICK).stdout)
    assert figures["accuracy"] == 1.0
    assert list(figures["per_class"]) == ["sad", "glad"]


def test_the_same_seed_gives_the_same_figures(files: dict[str, Path]) -> None:
    first, second = (
        run("evaluate", str(files["good"]), "--json", "-", *QUICK, "--seed", "7").stdout
        for _ in range(2)
    )
    assert first == second


def test_json_and_picture_go_to_files_beside_the_printed_report(
    files: dict[str, Path], tmp_path: Path
) -> None:
    target, picture = tmp_path / "figures.json", tmp_path / "figures.png"
    arguments = ["--json", str(target), "--plot", str(picture), *QUICK]
    finished = run("evaluate", str(files["good"]), *arguments)
    assert "Reliability" in finished.stdout
    assert json.loads(target.read_text())["n"] == 400
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "figures.png"]


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_folder_that_is_not_there_is_named(
    files: dict[str, Path], tmp_path: Path, option: str
) -> None:
    target = tmp_path / "missing" / "file.png"
    finished = run("evaluate", str(files["good"]), option, str(target), *QUICK)
    assert finished.returncode == 2
    assert str(target.parent) in finished.stderr


def test_drift_within_the_limits_exits_with_0(files: dict[str, Path]) -> None:
    finished = run("drift", str(files["good"]), str(files["near"]), *QUICK)
    assert finished.returncode == 0
    assert "within every limit" in finished.stdout


def test_drift_past_a_limit_exits_with_1_and_says_why(files: dict[str, Path]) -> None:
    finished = run("drift", str(files["good"]), str(files["bad"]), *QUICK)
    assert finished.returncode == 1
    assert "Accuracy fell" in finished.stdout


def test_limits_given_as_options_decide(files: dict[str, Path]) -> None:
    loose = ["--ece-limit", "100%", "--aece-limit", "1", "--accuracy-limit", "1.0"]
    finished = run(
        "drift", str(files["good"]), str(files["bad"]), *loose, "--flips-limit", "100%", *QUICK
    )
    assert finished.returncode == 0


def test_drift_writes_json_and_a_picture(files: dict[str, Path], tmp_path: Path) -> None:
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


@pytest.mark.parametrize("limit", ["2", "-1%", "much", "nan", "101%"])
def test_a_limit_that_is_no_share_is_bad_usage(files: dict[str, Path], limit: str) -> None:
    finished = run("drift", str(files["good"]), str(files["near"]), f"--flips-limit={limit}")
    assert finished.returncode == 2
    assert "0.5%" in finished.stderr


def test_drift_over_different_faces_is_an_error(files: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    np.savez(other, logits=np.zeros((3, 8)), labels=[0, 1, 2])
    finished = run("drift", str(files["good"]), str(other))
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")


def test_the_default_limits_in_the_help_are_the_real_ones() -> None:
    from calib.drift import Limits

    page = run("drift", "--help", COLUMNS="120").stdout
    for name in ("ece", "aece", "accuracy", "flips"):
        shown = re.search(rf"--{name}-limit.*default: (\S+)%\]", page)
        assert shown is not None, page
        assert float(shown[1]) / 100 == pytest.approx(getattr(Limits(), name))
