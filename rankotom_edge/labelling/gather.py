"""Gathers the faces to choose from: out of a folder, or from a camera while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.face_sets.collect import holds_session
from rankotom_edge.face_sets.face_split import count_words
from rankotom_edge.labelling.collect import Collector, faces_of_photos, faces_of_session
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.labelling.kept_faces import holds_faces, read_kept_faces
from rankotom_edge.live.build import open_reader
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, run_loop
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.recording.session import read_session
from rankotom_edge.sources import Source
from rankotom_edge.views.display import Display
from rankotom_edge.views.terminal.keyboard import Keyboard

COUNT_EVERY = 0.5  # seconds


@dataclass(frozen=True, eq=False)
class Gathered:
    faces: list[FaceToLabel]
    source: str | None  # that they are of, as the views name it; None: photos are of none


def gather_from_folder(folder: Path, classifier: Classifier) -> Gathered:
    """A session, kept faces, or photos."""
    if not folder.is_dir():
        raise RankotomError(
            f"There is no folder {folder}. Give a session with video (rankotom-edge camera "
            "--record DIR --record-video), a folder of photos, or a camera: --device 0"
        )
    if holds_faces(folder):
        return Gathered(*read_kept_faces(folder, classifier.artifact))
    if holds_session(folder):
        session = read_session(folder)
        return Gathered(faces_of_session(session, classifier), str(session.metadata["source"]))
    return Gathered(faces_of_photos(folder, classifier), None)


def gather_from_source(
    source: Source, classifier: Classifier, seconds: float | None, run: str
) -> Gathered:
    """Until the source ends, ``seconds`` are over or q is pressed. Nothing is shown of what the
    model says: that would tell the rater."""
    collector = Collector(classifier, run)
    with ExitStack() as stack:
        reader = stack.enter_context(open_reader(classifier, stills=source.photographs))
        view = stack.enter_context(GatheringView(collector, source.name))
        stats = RunStats(time.monotonic())
        run_loop(source, reader, view, KeyActions(), stats, Stop(None, seconds), [collector])
    return Gathered(collector.faces(), source.name)


class GatheringView(Closing):
    """How many faces there are so far, on a line of standard error; q ends the loop."""

    interactive = True
    shows_faces = True

    def __init__(self, collector: Collector, source: str) -> None:
        self._collector, self._source = collector, source
        self._counted = float("-inf")
        console = Console(stderr=True)
        self._stack = ExitStack()
        self._keyboard = self._stack.enter_context(Keyboard())
        self._update: Callable[[Text], None] = lambda words: None
        if console.is_terminal:
            self._update = self._stack.enter_context(console.status(self._words())).update
        else:
            print(f"gathering faces from {source}", file=sys.stderr)

    @property
    def closed(self) -> bool:
        return self._collector.full

    def show(self, display: Display) -> None:
        now = time.monotonic()
        if now - self._counted >= COUNT_EVERY:
            self._counted = now
            self._update(self._words())

    def key(self) -> str | None:
        return self._keyboard.key()

    def close(self) -> None:
        self._stack.close()

    def _words(self) -> Text:
        moments, groups = self._collector.count()
        return Text(
            f"{count_words(moments, 'moment')} of {count_words(groups, 'face')} from "
            f"{self._source}: show different expressions; q when it is enough"
        )
