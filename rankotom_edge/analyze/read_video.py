"""Reads one video into its table and its statistics, on any machine that has the file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from calib.errors import RankotomError
from rankotom_edge.analyze.statistics import Statistics, StatisticsCollector
from rankotom_edge.analyze.tables import Format, make_table
from rankotom_edge.analyze.videos import Video
from rankotom_edge.api.reader import Reader
from rankotom_edge.api.values import FrameReading, column_types, row
from rankotom_edge.live.build import Reach
from rankotom_edge.model.onnx_runtime import Provider
from rankotom_edge.readings.drift_monitor import Reference
from rankotom_edge.sources.open_source import find_clip
from rankotom_edge.sources.source_parser import SourceSpec


@dataclass(frozen=True)
class Settings:
    """What decides the content of the tables."""

    model: str  # an embedded name or an absolute path
    sha256: str  # of the model's file
    fps: float | None
    max_error: float | None
    max_error_each: float
    reach: Reach
    provider: Provider | str
    format: Format


@dataclass(frozen=True)
class Task:
    video: Video
    settings: Settings


@dataclass(frozen=True)
class Analysis:
    statistics: Statistics
    problem: str | None  # what is wrong with the video, as far as it could be read
    table: bytes


@dataclass(frozen=True)
class Failure:
    reason: str


Outcome = Analysis | Failure
Report = Callable[[float], None]


def attempt(task: Task, report: Report = lambda share: None) -> Outcome:
    """``report`` is called with the share of the video that is read. A video that cannot be read,
    whatever the reason, stops no other."""
    try:
        return read_video(task, report)
    except RankotomError as error:
        return Failure(str(error))
    except OSError as error:
        return Failure(f"{error.filename or task.video.path}: {error.strerror or error}")
    except Exception as error:
        return Failure(f"a bug in rankotom-edge; please report it: {error!r}")


def read_video(task: Task, report: Report) -> Analysis:
    """The readings are those of ``camera --no-calibration``: calibrations belong to cameras."""
    video, settings = task.video, task.settings
    reader = _open_reader(settings)
    # Not parsed again: a file may be called demo, or like a stream.
    clip = find_clip(SourceSpec("video", video.path, video.name), settings.fps)
    assert clip is not None
    card = reader.artifact.card
    collector = StatisticsCollector(Reference.of(card), settings.fps)
    table = make_table(settings.format, {"video": str, **column_types(card.labels)})
    with closing(clip.frames()) as frames:
        for latest in reader.follow(frames, None):
            collector.write(latest)
            frame = FrameReading.of(latest)
            for face in frame.faces:
                table.add({"video": video.name, **row(frame, face)})
            report(clip.done or 0.0)
    return Analysis(collector.finish(), clip.remark, table.finish())


_readers = threading.local()  # a Dask worker may have several threads


def _open_reader(settings: Settings) -> Reader:
    """Kept for the next video with the same settings."""
    if getattr(_readers, "settings", None) != settings:
        if hasattr(_readers, "reader"):
            _readers.reader.close()
            del _readers.settings, _readers.reader  # the new one may be refused
        reader = Reader(
            settings.model,
            max_error=settings.max_error,
            max_error_each=settings.max_error_each,
            reach=settings.reach,
            provider=settings.provider,  # type: ignore[arg-type]
        )
        if reader.artifact.sha256 != settings.sha256:
            reader.close()
            raise RankotomError(
                f"The model {settings.model} is another file on this worker. Install the same "
                "rankotom-edge and the same model on every machine."
            )
        _readers.settings, _readers.reader = settings, reader
    found: Reader = _readers.reader
    return found
