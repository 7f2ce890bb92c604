"""``doctor`` as a person meets it, on a copy of the program that may be broken."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rankotom_edge.doctor.check import Check, Probe
from rankotom_edge.doctor.subprocess_probe import run_probe

if TYPE_CHECKING:
    from conftest import Watch

ROOT = Path(__file__).parents[3]


def run(
    folder: Path, *arguments: str, wrapper: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """``python -m`` looks in the current folder first, so that the copy there is what runs."""
    return subprocess.run(
        [*wrapper, sys.executable, "-m", "rankotom_edge", "doctor", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in ("calib", "rankotom_edge", "train"):
        shutil.copytree(ROOT / package, tmp_path / package)
    return tmp_path


def test_a_machine_without_screen_or_data_still_reads_faces(tmp_path: Path) -> None:
    target = tmp_path / "doctor.json"
    finished = run(
        ROOT, "--source", "demo", "--json", str(target),
        DISPLAY="", HOME=str(tmp_path), RANKOTOM_DATA=str(tmp_path),
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "✓ This machine reads faces" in finished.stdout
    document = json.loads(target.read_text())
    assert document["ok"] is True
    checks = {check["name"]: check for check in document["checks"]}
    assert all(
        set(check) == {"name", "ok", "detail", "fix", "ms", "level"} for check in checks.values()
    )
    assert {"demo", "mediapipe", "opencv", "onnxruntime cpu", "cpu", "python"} <= set(checks)
    assert checks["source"]["ok"]
    assert not checks["screen"]["ok"]
    assert not checks["ferplus"]["ok"]
    assert all(check["ms"] > 0 for check in checks.values())
    assert all(check["fix"] for check in checks.values() if not check["ok"])
    assert all(check["fix"] is None for check in checks.values() if check["ok"])
    assert [path.name for path in tmp_path.iterdir()] == ["doctor.json"]


def test_without_model_files_the_answer_is_no(copy: Path) -> None:
    for file in (copy / "rankotom_edge" / "model" / "embedded").glob("*.onnx"):
        file.unlink()
    (copy / "cut.mp4").write_bytes(b"\0" * 100)
    target = copy / "doctor.json"
    finished = run(copy, "--source", "cut.mp4", "--json", str(target), DISPLAY="")
    assert finished.returncode == 1
    assert "✗ This machine cannot read faces yet" in finished.stdout
    document = json.loads(target.read_text())
    assert document["ok"] is False
    checks = {check["name"]: check for check in document["checks"]}
    assert not checks["demo"]["ok"]
    assert not checks["models"]["ok"]
    assert str(copy) in checks["models"]["detail"]
    assert "cut.mp4 is not a video that OpenCV can read" in checks["source"]["detail"]
    assert checks["mediapipe"]["ok"]


def test_it_makes_no_network_call_and_leaves_nothing_at_home(watch: Watch, tmp_path: Path) -> None:
    finished = run(
        ROOT, "--json", "-", wrapper=watch.over("network"), DISPLAY="", HOME=str(tmp_path)
    )
    assert json.loads(finished.stdout)["ok"], finished.stdout
    assert watch.calls == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_takes_longer_than_it_may(tmp_path: Path) -> None:
    """Not even Python starts in a hundredth of a second."""
    finished = run(tmp_path, "--timeout", "0.01", "--json", "-")
    assert finished.returncode == 1
    checks = json.loads(finished.stdout)["checks"]
    assert {check["detail"] for check in checks} == {"no answer in 0.01 s"}


def test_a_target_that_cannot_be_written_is_an_error_before_the_work(tmp_path: Path) -> None:
    finished = run(tmp_path, "--json", str(tmp_path / "gone" / "doctor.json"))
    assert finished.returncode == 2
    assert "make it first" in finished.stderr


def check_ferplus(timeout: float = 60.0) -> Check:
    found = run_probe(Probe("ferplus", "rankotom_edge.cli.doctor:ferplus"), timeout)
    assert isinstance(found, Check)
    return found


def test_data_that_is_not_there_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKOTOM_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    check = check_ferplus()
    assert not check.ok
    assert check.detail.startswith(f"No FERPlus in {tmp_path}/.cache/rankotom-edge")


def test_a_pipe_among_the_data_is_named_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "FER2013Train").mkdir(parents=True)
    (tmp_path / "data" / "FER2013Train" / "fer0000001.png").touch()
    os.mkfifo(tmp_path / "fer2013new.csv")
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path))
    assert check_ferplus().detail.endswith("fer2013new.csv: it is not an ordinary file.")


def test_a_user_can_see_that_a_run_is_private(watch: Watch) -> None:
    finished = run(ROOT, "--private")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "✓ Nothing left this machine, and nothing was written" in finished.stdout


def test_without_strace_privacy_is_not_shown_and_the_status_is_1() -> None:
    finished = run(ROOT, "--private", PATH="/nowhere")
    assert finished.returncode == 1
    assert "It could not be watched" in finished.stdout
    assert "apt-get install strace" in finished.stdout
