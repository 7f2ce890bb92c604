"""Sessions that can be read, however they ended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.replay import SessionClip
from rankotom_edge.recording.session import read_session
from rankotom_edge.sources.playback_source import PlaybackSource

Record = Callable[..., Path]


def test_a_session_is_read_back_as_it_was_recorded(
    record: Record,
    tmp_path: Path,
    frames: list[FrameReadings],
    classifier: Classifier,
) -> None:
    session = read_session(record(tmp_path / "new" / "sessions", frames))
    assert list(session.lines()) == [json.loads(json.dumps(m.as_json())) for m in frames]
    assert [again.as_json() for again in session.frames()] == [m.as_json() for m in frames]
    assert session.complete
    assert session.model.labels == frames[0].readings[0].labels
    saved = session.metadata
    assert (saved["source"], saved["fps"], saved["size"]) == ("camera 0", 15.0, [512, 512])
    assert (saved["started"], saved["frames"]) == ("2026-11-16T10:42:07+00:00", 12)
    assert saved["options"] == {"max_error": 0.5}
    assert {"name", "sha256", "precision", "labels", "temperature"} <= saved["model"].keys()
    card = classifier.artifact.card
    assert session.model.crop == card.crop
    assert session.model.evaluation == card.evaluation


def test_without_video_no_image_is_kept_and_the_replay_is_grey(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    folder = record(tmp_path, frames)
    assert sorted(path.name for path in folder.iterdir()) == ["metadata.json", "readings.jsonl"]
    shown = next(read_session(folder).frames()).frame.image
    assert shown.shape == (512, 512, 3)
    assert np.ptp(shown) == 0


def test_with_video_every_line_has_its_image(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    session = read_session(record(tmp_path, frames, video=True))
    shown = list(session.frames())
    assert len(shown) == len(frames)
    for again, recorded in zip(shown, frames, strict=True):
        assert again.frame.index == recorded.frame.index
        assert np.abs(again.frame.image.astype(int) - recorded.frame.image).mean() < 2.5


def test_a_folder_with_one_session_stands_for_it_and_one_with_several_names_them(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    only = record(tmp_path, frames)
    assert read_session(tmp_path).folder == only
    second = record(tmp_path, frames)
    with pytest.raises(RankotomError, match=f"holds 2 sessions; name one.*{second.name}"):
        read_session(tmp_path)


@pytest.mark.parametrize(("name", "kept"), [("readings.jsonl", 11), ("video.mjpeg", 11)])
def test_a_cut_off_end_is_left_out(
    record: Record,
    tmp_path: Path,
    frames: list[FrameReadings],
    name: str,
    kept: int,
) -> None:
    folder = record(tmp_path, frames, video=True)
    with (folder / name).open("r+b") as file:
        file.truncate(os.path.getsize(folder / name) - 40)
    assert len(list(read_session(folder).frames())) == kept


def test_a_damaged_line_is_named(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    path = record(tmp_path, frames) / "readings.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    for broken in ("no JSON\n", '{"frame": 2}\n', "[]\n"):
        path.write_text("".join([*lines[:2], broken, *lines[3:]]))
        with pytest.raises(RankotomError, match=r"Line 3 of .*readings\.jsonl is not as"):
            list(read_session(tmp_path).frames())


def test_a_folder_that_is_no_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"not a recorded session: there is no metadata\.json"):
        read_session(tmp_path)
    with pytest.raises(RankotomError, match="no such folder"):
        read_session(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "of format 2, and this version reads up to 1. Update"),
        ({"format": "new"}, "metadata.json is not as"),
        ({"model": {}}, "metadata.json is not as .*name"),
        ({"size": 5}, "metadata.json is not as"),
        ({"video": True}, "has lost its video.mjpeg"),
    ],
)
def test_foreign_metadata_is_refused(
    record: Record,
    tmp_path: Path,
    change: dict[str, object],
    words: str,
) -> None:
    path = record(tmp_path, []) / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RankotomError, match=words):
        read_session(tmp_path)


def test_an_early_session_that_has_the_framing_alone_is_read(
    record: Record, tmp_path: Path, classifier: Classifier
) -> None:
    path = record(tmp_path, []) / "metadata.json"
    saved = json.loads(path.read_text())
    del saved["model"]["size"], saved["model"]["channels"]
    path.write_text(json.dumps(saved))
    assert read_session(tmp_path).model.crop == classifier.artifact.card.crop


def test_a_session_without_its_readings_is_refused(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    (record(tmp_path, frames) / "readings.jsonl").unlink()
    with pytest.raises(RankotomError, match=r"has lost its readings\.jsonl"):
        read_session(tmp_path)


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (("frame",), "-1"), (("frame",), '"two"'), (("frame",), "1e999"), (("frame",), NESTED),
        (("time",), "NaN"), (("time",), "-1"), (("time",), "1e300"), (("time",), "null"),
        (("latency_ms",), "[]"), (("latency_ms", "total"), '"1"'), (("faces",), "{}"),
        (("faces", 0), "null"), (("faces", 0, "track"), "1.5"), (("faces", 0, "box"), "[1,2,3]"),
        (("faces", 0, "box"), "[0,0,-5,5]"), (("faces", 0, "box", 2), "1e12"),
        (("faces", 0, "points", "mouth"), '["a",1]'), (("faces", 0, "points"), "{}"),
        (("faces", 0, "raw"), "[1]"), (("faces", 0, "raw", "anger"), "2"),
        (("faces", 0, "probabilities"), '{"joy":1}'), (("faces", 0, "verdict"), '"maybe"'),
        (("faces", 0, "reason"), '"\\u001b[31m"'), (("faces", 0, "blend"), '["joy","anger"]'),
        (("faces", 0, "quality"), "7"), (("faces", 0, "quality_parts"), '{"x":1}'),
        (("faces", 0, "needed"), "-0.1"), (("faces", 0, "score"), "true"),
    ],
)  # fmt: skip
def test_a_frame_with_a_field_of_another_kind_is_named(
    record: Record,
    tmp_path: Path,
    frames: list[FrameReadings],
    part: tuple[str | int, ...],
    value: str,
) -> None:
    path = record(tmp_path, frames) / "readings.jsonl"
    first, *rest = path.read_text().splitlines()
    line = holder = json.loads(first)
    for step in part[:-1]:
        holder = holder[step]
    holder[part[-1]] = "HERE"
    path.write_text("\n".join([json.dumps(line).replace('"HERE"', value), *rest, ""]))
    with pytest.raises(RankotomError, match=r"Line 1 of .*readings\.jsonl is not as"):
        list(read_session(tmp_path).frames())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("size", "[-640,480]"), ("size", "[100000,100000]"), ("size", "[0,0]"), ("size", "[1]"),
        ("fps", '"fast"'), ("fps", "1e999"), ("frames", "-3"), ("frames", "1.5"), ("source", "7"),
        ("source", '"\\u001b]0;x\\u0007"'), ("started", "null"), ("still", '"no"'),
        ("video", "1"), ("complete", "[]"), ("format", "-1"), ("model", NESTED),
        ("calibration", '{"words":"\\u001b[2J"}'), ("calibration", "[]"),
    ],
)  # fmt: skip
def test_metadata_with_a_field_of_another_kind_are_refused(
    record: Record, tmp_path: Path, key: str, value: str
) -> None:
    path = record(tmp_path, []) / "metadata.json"
    saved = json.loads(path.read_text()) | {key: "HERE"}
    path.write_text(json.dumps(saved).replace('"HERE"', value))
    with pytest.raises(RankotomError):
        read_session(tmp_path)


def test_what_is_wrong_in_a_decoding_thread_ends_the_replay_with_an_error(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    path = record(tmp_path, frames) / "readings.jsonl"
    path.write_text(path.read_text() + NESTED + "\n")
    with PlaybackSource(SessionClip(read_session(tmp_path)), paced=False) as source:
        for _ in frames:
            assert source.read(30) is not None
        with pytest.raises(RankotomError, match="Line 13"):
            source.read(30)
