"""One bar over all videos, with the time left; by bytes, so that no video has to be opened."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from rankotom_edge.analyze.videos import Video
from rankotom_edge.closing import Closing

AVERAGED = 600.0  # seconds of which the speed is averaged: videos differ. Chosen by eye


class ProgressBar(Closing):
    """On standard error, if that is a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            speed_estimate_period=AVERAGED,
        )
        self._task = self._progress.add_task("", total=None)
        self._done: dict[str, float] = {}  # bytes, by video
        self._videos = self._finished = 0

    def start(self, videos: Sequence[Video], finished: int) -> None:
        """``videos``: those to read. ``finished``: how many were read by an earlier run."""
        self._videos, self._finished = len(videos) + finished, finished
        self._progress.update(self._task, total=sum(video.size for video in videos) or 1)
        self._show()
        self._progress.start()

    def update(self, video: Video, share: float) -> None:
        self._done[video.name] = video.size * share
        self._show()

    def finish(self, video: Video) -> None:
        self._finished += 1
        self.update(video, 1.0)

    def close(self) -> None:
        self._progress.stop()

    def _show(self) -> None:
        words = f"{self._finished:,} of {self._videos:,} videos"
        self._progress.update(self._task, description=words, completed=sum(self._done.values()))
