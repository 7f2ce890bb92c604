"""``rankotom-edge analyze`` as a user runs it: on twenty clips, killed and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import pytest

from rankotom_edge.sources.demo import demo_picture, load_portrait

CLIPS = 20
SIZE = (320, 240)
PATIENCE = 180.0


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive") / "clips"
    portrait = load_portrait()
    for number in range(CLIPS):
        path = folder / f"day {number % 2}" / f"{number}.avi"
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, SIZE)
        for frame in range(20):
            writer.write(demo_picture(portrait, 2.0 * number + frame / 10, SIZE))
        writer.release()
    return folder


@pytest.fixture(scope="module")
def in_one_go(archive: Path, run: Callable[..., Any], tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("results") / "whole"
    finished = run("analyze", str(archive), "-o", str(folder), "--format", "csv")
    assert finished.returncode == 0, finished.stderr
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_goes_on_and_gives_the_same_as_in_one_go(
    end: signal.Signals, archive: Path, in_one_go: Path, run: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    command = ["analyze", str(archive), "-o", str(folder), "--format", "csv", "--workers", "1"]
    started = subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + PATIENCE
    records = folder / "records"
    while len(list(records.rglob("*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    started.send_signal(end)
    _, errors = started.communicate(timeout=PATIENCE)
    done = {path: path.stat().st_mtime_ns for path in records.rglob("*.json")}
    assert 3 <= len(done) < CLIPS
    assert not (folder / "summary.json").exists()
    if end == signal.SIGINT:
        assert started.returncode == 130
        assert errors == f"note: {len(done)} of 20 videos are done; the same command goes on\n"
    assert run(*command).returncode == 0
    assert contents(folder) == contents(in_one_go)
    assert {path: path.stat().st_mtime_ns for path in done} == done


def test_a_second_run_reads_nothing_again(
    archive: Path, in_one_go: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = "rankotom_edge.analyze.local_workers.read_locally"
    monkeypatch.setattr(read, lambda tasks, workers: pytest.fail(f"{len(tasks)} are read again"))
    before = contents(in_one_go)
    finished = run("analyze", str(archive), "-o", str(in_one_go), "--format", "csv")
    assert finished.returncode == 0, finished.stderr
    assert "20 videos read" in finished.stdout
    assert "happiness" in finished.stdout
    assert contents(in_one_go) == before


def test_the_summary_is_json_too(archive: Path, in_one_go: Path, run: Callable[..., Any]) -> None:
    command = ["analyze", str(archive), "-o", str(in_one_go), "--format", "csv", "--json", "-"]
    document = json.loads(run(*command).stdout)
    assert document == json.loads((in_one_go / "summary.json").read_text())
    assert (document["videos"], document["failed"], document["frames"]) == (20, {}, 400)
    happiness = document["expressions"]["happiness"]
    low, high = happiness["interval"]
    assert low < happiness["share"] <= high
    assert happiness["episodes"] >= 20
    assert document["model"]["name"]


def test_a_broken_file_is_named_at_the_end_and_stops_nothing(
    archive: Path, run: Callable[..., Any], tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "broken.mp4").write_text("no video")
    (tmp_path / "clip.avi").write_bytes((archive / "day 0" / "0.avi").read_bytes())
    folder = tmp_path / "results"
    finished = run("analyze", str(tmp_path / "*.*"), "-o", str(folder), "--fps", "5")
    assert finished.returncode == 1
    assert "1 video could not be read, 1 could" in finished.stdout
    assert "broken.mp4: " in finished.stdout
    table = pandas.read_parquet(folder / "tables")
    assert set(table["video"]) == {"clip.avi"}
    assert table["frame"].max() <= 18
    assert json.loads((folder / "summary.json").read_text())["frames"] == 10


def test_other_options_need_another_folder(
    archive: Path, in_one_go: Path, run: Callable[..., Any]
) -> None:
    finished = run("analyze", str(archive), "-o", str(in_one_go), "--format", "csv", "--fps", "1")
    assert finished.returncode == 2
    assert "results with another fps" in finished.stderr


def test_workers_and_a_cluster_exclude_each_other(run: Callable[..., Any], archive: Path) -> None:
    finished = run("analyze", str(archive), "--workers", "2", "--cluster", "tcp://127.0.0.1:1")
    assert finished.returncode == 2
    assert "not both" in finished.stderr


@pytest.mark.parametrize(
    ("missing", "options", "name"),
    [("pyarrow", [], "analyze"), ("distributed", ["--cluster", "tcp://127.0.0.1:1"], "cluster")],
)
def test_a_missing_extra_is_named(
    missing: str,
    options: list[str],
    name: str,
    archive: Path,
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (missing, f"{missing}.parquet", "rankotom_edge.analyze.cluster"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    finished = run("analyze", str(archive), "-o", str(tmp_path / "new"), *options)
    assert finished.returncode == 2
    assert f"pip install 'rankotom-edge[{name}]'" in finished.stderr


def test_the_scheduler_of_the_environment_is_used_unless_workers_are_given(
    archive: Path, run: Callable[..., Any], tmp_path: Path
) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    clip = str(archive / "day 0" / "0.avi")
    command = ["analyze", clip, "-o", str(tmp_path / "new"), "--format", "csv"]
    there = {"DASK_SCHEDULER_ADDRESS": "tcp://127.0.0.1:1"}
    assert "No Dask scheduler answers" in run(*command, **there).stderr
    assert run(*command, "--workers", "1", **there).returncode == 0
