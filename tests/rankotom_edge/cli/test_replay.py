"""``rankotom-edge replay`` on sessions that ``camera`` recorded, one of them killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankotom_edge.model import embedded as models

Finished = subprocess.CompletedProcess[str]


def rankotom_edge(*arguments: str) -> Finished:
    return subprocess.run(
        [sys.executable, "-m", "rankotom_edge", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def record(folder: Path, *options: str) -> Path:
    demo = ["camera", "--source", "demo", "--view", "none", "--frames", "25"]
    finished = rankotom_edge(*demo, "--record", str(folder), *options)
    assert finished.returncode == 0, finished.stderr
    (session,) = folder.iterdir()
    return session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("with-video"), "--record-video")


def test_a_session_is_shown_again_as_it_was_read(session: Path) -> None:
    finished = rankotom_edge("replay", str(session), "--view", "terminal", "--fast")
    assert finished.returncode == 0, finished.stderr
    assert "not a live person" in finished.stdout
    assert "face 1: happiness" in finished.stdout


def test_with_another_model_it_reports_how_far_the_two_agree(session: Path) -> None:
    """Its own parent, on JPEGs of the frames: nearly the same readings."""
    finished = rankotom_edge("replay", str(session), "--model", "ferplus-fp32", "--json", "-")
    assert finished.returncode == 0, finished.stderr
    answer = json.loads(finished.stdout)
    assert answer["n"] > 15
    assert answer["labelled"] is False
    assert answer["flips"]["rate"] == 0
    assert answer["distance"]["worst"] < 0.1
    assert answer["reference"]["name"] == models.DEFAULT
    assert answer["candidate"]["name"] == "ferplus-fp32"
    assert "No labels" in rankotom_edge("replay", str(session), "--model", "ferplus-fp32").stdout


def test_without_video_there_is_nothing_for_another_model_to_look_at(tmp_path: Path) -> None:
    session = record(tmp_path)
    assert sorted(path.name for path in session.iterdir()) == ["metadata.json", "readings.jsonl"]
    assert rankotom_edge("replay", str(session), "--view", "none").returncode == 0
    finished = rankotom_edge("replay", str(session), "--model", "ferplus-fp32")
    assert finished.returncode == 2
    assert "--record-video" in finished.stderr


def test_a_folder_that_is_no_session_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    finished = rankotom_edge("replay", str(tmp_path))
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr
    assert str(tmp_path) in finished.stderr


def test_what_was_recorded_before_a_kill_is_shown_again(tmp_path: Path) -> None:
    demo = ["camera", "--source", "demo", "--view", "none", "--json", "-"]
    command = [sys.executable, "-m", "rankotom_edge", *demo]
    with subprocess.Popen(
        [*command, "--record", str(tmp_path), "--record-video"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(12):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    (session,) = tmp_path.iterdir()
    assert json.loads((session / "metadata.json").read_text())["complete"] is False
    finished = rankotom_edge("replay", str(tmp_path), "--view", "terminal", "--fast")
    assert finished.returncode == 0, finished.stderr
    assert "the recording was cut off" in finished.stderr
    assert "face 1: happiness" in finished.stdout


def test_a_damaged_line_is_an_error_after_the_frames_before_it(tmp_path: Path) -> None:
    session = record(tmp_path)
    readings = session / "readings.jsonl"
    lines = readings.read_text().splitlines(keepends=True)
    lines[10] = '{"frame": NaN}\n'
    readings.write_text("".join(lines))
    finished = rankotom_edge("replay", str(session), "--view", "terminal", "--fast")
    assert finished.returncode == 2
    assert "Line 11" in finished.stderr
    assert "Traceback" not in finished.stderr
    readings.write_text("".join(lines[:10]))
    finished = rankotom_edge("replay", str(session), "--view", "terminal", "--fast")
    assert finished.returncode == 0
    assert "only 10 of its 25 frames are left" in finished.stderr
