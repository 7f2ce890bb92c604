"""Real videos through the real detector and model, against what ``camera`` says of them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankotom_edge.analyze.read_video import Analysis, Failure, Task, attempt

CLIPS = Path(__file__).parents[4] / "shared" / "data" / "clips"


def rows_of(analysis: Any) -> list[dict[str, str]]:
    assert isinstance(analysis, Analysis), analysis
    return list(csv.DictReader(io.StringIO(analysis.table.decode())))


def camera_rows(path: Path) -> list[tuple[Any, ...]]:
    command = ["camera", "--source", str(path), "--view", "none", "--json", "-"]
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge", *command, "--model", "ferplus-fp32"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    return [
        (
            *(line["frame"], line["time"], face["track"], *face["box"]),
            *(face["confidence"], face["blend_name"] or "", face["verdict"]),
            *(face["reason"] or "", ", ".join(face["set"] or [])),
            *face["probabilities"].values(),
        )
        for line in lines
        for face in line["faces"]
    ]


def table_rows(rows: list[dict[str, str]]) -> list[tuple[Any, ...]]:
    numbers = ("time", "track", "x", "y", "width", "height", "confidence")
    words = ("blend_name", "verdict", "reason", "prediction_set")
    return [
        (
            int(row["frame"]),
            *(float(row[name]) for name in numbers),
            *(row[name] for name in words),
            *(float(row[name]) for name in row if name.startswith("probability:")),
        )
        for row in rows
    ]


def test_a_table_has_the_same_readings_as_camera_gives(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    path = clip_of(tmp_path / "clip.avi", 40)
    rows = table_rows(rows_of(attempt(task_of(path))))
    assert len(rows) > 20
    assert rows == camera_rows(path)


@pytest.mark.skipif(not CLIPS.exists(), reason=f"the clips {CLIPS} are not on this machine")
@pytest.mark.parametrize("name", ["yes.mkv", "head-pose-face-detection-female-and-male.gif"])
def test_the_same_holds_for_filmed_people(name: str, task_of: Callable[[Path], Task]) -> None:
    rows = table_rows(rows_of(attempt(task_of(CLIPS / name))))
    assert rows
    assert rows == camera_rows(CLIPS / name)


def test_the_next_video_starts_afresh(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    """The opened model is kept, the faces are not."""
    task = task_of(clip_of(tmp_path / "clip.avi", 20))
    assert attempt(task) == attempt(task)


def test_fps_reads_fewer_frames_at_their_own_times(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    task = task_of(clip_of(tmp_path / "clip.avi", 40))
    found = attempt(replace(task, settings=replace(task.settings, fps=2.5)))
    rows = rows_of(found)
    assert isinstance(found, Analysis)
    assert found.statistics.frames == 10
    assert {int(row["frame"]) % 4 for row in rows} == {0}


def test_the_share_that_is_read_grows_to_one(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    shares: list[float] = []
    attempt(task_of(clip_of(tmp_path / "clip.avi", 10)), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_file_that_is_no_video_fails_with_the_reason(
    task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    path = tmp_path / "broken.mp4"
    path.write_text("no video")
    failure = attempt(task_of(path))
    assert isinstance(failure, Failure)
    assert "is not a video that OpenCV can read" in failure.reason


def test_a_file_that_breaks_off_is_read_in_part(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    whole = clip_of(tmp_path / "whole.avi", 40)
    part = tmp_path / "part.avi"
    part.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    found = attempt(task_of(part))
    assert isinstance(found, Analysis)
    assert found.problem is not None
    assert "breaks off" in found.problem
    assert 0 < found.statistics.frames < 40


def test_another_model_under_the_same_name_is_refused(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    task = task_of(clip_of(tmp_path / "clip.avi", 2))
    failure = attempt(replace(task, settings=replace(task.settings, sha256="0" * 64)))
    assert isinstance(failure, Failure)
    assert "another file on this worker" in failure.reason


def test_a_video_that_is_gone_fails_and_names_it(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> None:
    task = task_of(clip_of(tmp_path / "clip.avi", 2))
    Path(task.video.path).unlink()
    failure = attempt(task)
    assert isinstance(failure, Failure)
    assert "clip.avi" in failure.reason
