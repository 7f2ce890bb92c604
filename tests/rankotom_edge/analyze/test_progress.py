from __future__ import annotations

import io

from rich.console import Console

from rankotom_edge.analyze.progress import ProgressBar
from rankotom_edge.analyze.videos import Video

VIDEOS = [Video(f"/clips/{name}", name, size, 0) for name, size in (("a", 300), ("b", 100))]


def test_a_video_counts_once_however_often_its_end_is_reported() -> None:
    screen = io.StringIO()
    with ProgressBar(Console(file=screen, force_terminal=True, width=100)) as bar:
        bar.start(VIDEOS, finished=1)
        for share in (0.5, 1.0, 1.0):
            bar.update(VIDEOS[0], share)
        bar.finish(VIDEOS[0])
    assert "1 of 3 videos" in screen.getvalue()
    last = screen.getvalue().rpartition(" of 3 videos")
    assert last[0].endswith("2")
    assert "75%" in last[2]  # by bytes, of those to read


def test_nothing_is_written_where_there_is_no_terminal() -> None:
    said = io.StringIO()
    with ProgressBar(Console(file=said)) as bar:
        bar.start(VIDEOS, finished=0)
        bar.finish(VIDEOS[0])
    assert said.getvalue() == ""
