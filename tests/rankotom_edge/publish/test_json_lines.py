import json
import os
from pathlib import Path

import numpy as np
import pytest

import calib.files
from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.publish.json_lines import JsonLines, json_lines
from rankotom_edge.readings.frame_readings import FrameReadings, Latency

LATEST = FrameReadings(
    Frame(np.zeros((4, 4, 3), np.uint8), 7, 0.25, 0.0), (), Latency(None, 1.5, 2.0)
)


def test_a_line_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with json_lines(str(path)) as stream:
        stream.write(LATEST)
        assert json.loads(path.read_text()) == {
            "frame": 7,
            "time": 0.25,
            "faces": [],
            "latency_ms": {"detect": None, "classify": 1.5, "total": 2.0},
        }


def test_the_file_is_private_also_if_it_was_there_for_everybody(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    for _ in range(2):
        with json_lines(str(path)) as stream:
            stream.write(LATEST)
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)


def test_a_file_that_cannot_be_opened_is_an_error_that_names_it(tmp_path: Path) -> None:
    absent = json_lines(str(tmp_path / "absent" / "lines"))
    with pytest.raises(RankotomError, match="absent/lines: No such file"), absent:
        pass


def test_a_fifo_without_a_reader_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calib.files, "READER_WAIT", 0.1)
    os.mkfifo(tmp_path / "lines")
    refused = pytest.raises(RankotomError, match="no program reads it")
    with refused, json_lines(str(tmp_path / "lines")):
        pytest.fail("the run began")


def test_a_full_disk_is_an_error_and_a_reader_that_left_is_not_ours() -> None:
    with (
        pytest.raises(RankotomError, match="/dev/full: No space left"),
        json_lines("/dev/full") as full,
    ):
        full.write(LATEST)
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), os.fdopen(writing, "w") as pipe:
        JsonLines(pipe, "a pipe").write(LATEST)
