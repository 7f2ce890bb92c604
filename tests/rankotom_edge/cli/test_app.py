"""The command line as a person meets it: what it prints, where, and how it ends."""

import inspect
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from calib.prediction_files import read_predictions
from calib.predictions import Predictions
from rankotom_edge import __version__
from rankotom_edge.cli.app import app, main

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
        [sys.executable, "-m", "rankotom_edge.cli.app", *arguments],
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
        "import sys; from rankotom_edge.cli.app import main\n"
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


def cpu_seconds(*arguments: str) -> float:
    """Of the child alone, so that a busy machine makes no difference to it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start(*arguments).check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_answers_at_once() -> None:
    """Under 0.4 s on an idle machine; shared caches and hyperthreads stretch even CPU time."""
    assert min(cpu_seconds("--help") for _ in range(3)) < 0.6


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


@pytest.mark.parametrize("command", [command.callback for command in app.registered_commands])
def test_a_commands_page_fits_and_sets_its_example_apart(command: Callable[..., None]) -> None:
    page = run(command.__name__, "--help").stdout
    purpose, example = inspect.getdoc(command).splitlines()[:2]
    lines = [line.strip() for line in page.splitlines()]
    place = lines.index(purpose)
    assert lines[place + 1 : place + 4 : 2] == ["", ""]
    assert lines[place + 2] in example
    assert not re.search(r"<(bool|str|path|list.*)>", page)
    assert max(map(len, page.splitlines())) <= 80


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
def test_debug_shows_the_traceback_wherever_it_stands(arguments: list[str]) -> None:
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stderr.startswith("Traceback")
    assert finished.stderr.splitlines()[-1].startswith("error: There is no predictions file")


def test_a_bug_is_called_one_and_is_no_answer(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calib.evaluation.evaluate", lambda *_, **__: 1 / 0)
    finished = run("evaluate", str(files["good"]))
    assert finished.returncode == 70
    assert "ZeroDivisionError" in finished.stderr
    assert "bug in rankotom-edge" in finished.stderr.splitlines()[-1]


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
def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("")
    for suffix in ("csv", "npz"):
        (tmp_path / f"memory.{suffix}").symlink_to("/proc/self/mem")
    finished = run("evaluate", str(tmp_path / name))
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1
    assert words in finished.stderr


@pytest.mark.parametrize("arguments", [["evaluate", "{good}", "--json", "-"], ["--help"]])
def test_a_full_disk_is_told_in_one_line(
    files: dict[str, Path], tmp_path: Path, arguments: list[str]
) -> None:
    """No file may grow past 100 bytes here, which is as full as a disk can be in a test."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    with (tmp_path / "output").open("w") as output:
        finished = subprocess.run(
            [sys.executable, "-c", f"{limit}from rankotom_edge.cli.app import main; main()"]
            + [each.format(**files) for each in arguments],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            # Unbuffered, Python itself takes half a write for a whole one.
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            timeout=300,
            check=False,
        )
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.endswith("File too large\n")
    assert finished.stderr.count("\n") == 1


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
        "from rankotom_edge.cli.app import main\n"
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


@pytest.mark.parametrize("target", [[], ["--json", "-"]])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["evaluate", "{good}"], 0),
        (["drift", "{good}", "{near}"], 0),
        (["drift", "{good}", "{bad}"], 1),
    ],
)
def test_a_reader_that_stops_early_changes_no_answer(
    files: dict[str, Path], arguments: list[str], status: int, target: list[str]
) -> None:
    """``rankotom-edge drift … | head -1``."""
    named = [each.format(**files) for each in arguments]
    assert unread(*named, *target, *QUICK) == (status, "")


def test_help_that_is_not_read_is_no_error() -> None:
    assert unread("--help") == (0, "")


def unread(*arguments: str) -> tuple[int, str]:
    """Status and complaints, with a standard output that no one reads."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli.app", *arguments],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    os.close(write_end)
    return finished.returncode, finished.stderr


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


@pytest.mark.parametrize(
    ("option", "name", "words"),
    [
        ("--json", "missing/file.json", "there is no folder"),
        ("--json", "", "it is a folder"),
        ("--plot", "missing/file.png", "there is no folder"),
        ("--plot", "file.bmp", "ends in .pdf, .png or .svg"),
        ("--save-predictions", "missing/file.npz", "there is no folder"),
        ("--save-predictions", "file.csv", "saved as .npz"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(
    tmp_path: Path, option: str, name: str, words: str
) -> None:
    """The work cannot even begin here: its input is missing, which is not what is told."""
    commands = [["evaluate", "gone.npz"], ["drift", "gone.npz", "gone.npz"]]
    for command in commands[:1] if option == "--save-predictions" else commands:
        finished = run(*command, option, str(tmp_path / name))
        assert finished.returncode == 2
        assert words in finished.stderr


def test_the_report_is_shown_even_if_a_file_then_fails(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder goes while the figures are made."""
    folder = tmp_path / "reports"
    folder.mkdir()
    target = folder / "figures.json"

    def read(path: Path) -> Predictions:
        folder.rmdir()
        return read_predictions(path)

    monkeypatch.setattr("calib.predictions.read_predictions", read)
    finished = run("evaluate", str(files["good"]), "--json", str(target), *QUICK)
    assert finished.returncode == 2
    assert "Reliability" in finished.stdout
    assert str(folder) in finished.stderr


@pytest.mark.parametrize("command", ["evaluate", "drift"])
@pytest.mark.parametrize(
    "option",
    [["--split", "test"], ["--dataset", "ferplus"], ["--data", "/"], ["--half", "report"]],
)
def test_options_about_faces_are_refused_with_predictions(
    files: dict[str, Path], command: str, option: list[str]
) -> None:
    named = [str(files["good"])] + ([str(files["near"])] if command == "drift" else [])
    finished = run(command, *named, *option, *QUICK, COLUMNS="500")
    assert finished.returncode == 2
    assert f"leave out {option[0]}, as" in finished.stderr


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


def test_two_files_of_one_name_are_told_apart(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    from calib.limits import Limits

    page = run("drift", "--help", COLUMNS="120").stdout
    for name in ("ece", "aece", "accuracy", "flips"):
        shown = re.search(rf"--{name}-limit.*default: (\S+)%\]", page)
        assert shown is not None, page
        assert float(shown[1]) / 100 == pytest.approx(getattr(Limits(), name))
