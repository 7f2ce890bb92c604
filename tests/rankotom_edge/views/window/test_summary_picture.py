"""The summary as a picture."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from rankotom_edge.frame import Frame
from rankotom_edge.views.palette import EMOTION_HEX, UNSURE_HEX
from rankotom_edge.views.run_summary import RunSummary
from rankotom_edge.views.window.summary_picture import draw_summary, save_summary


def summary_of(window: Any, keep_faces: bool = False) -> RunSummary:
    summary = RunSummary(keep_faces)
    crop = np.full((1, 48, 48), 250, np.uint8)
    for second in range(20):
        reason = "too dark" if second > 15 else None
        reading = window.reading(window.shares(happiness=0.8), reason=reason)
        latest = window.frame_readings(replace(reading, crop=crop))
        frame = Frame(latest.frame.image, second, float(second), 0.0)
        summary.write(replace(latest, frame=frame))
    return summary


def test_it_says_what_the_terminal_says_and_shows_it_in_colours(
    window: Any, texts: list[str]
) -> None:
    picture = draw_summary(summary_of(window), "camera 0, today", "confidence: as measured")
    assert {"15 s  79 %", "surest 80 % at 0 s, face 1", "too dark 4 s", "face 1"} <= set(texts)
    assert {"camera 0, today", "confidence: as measured"} <= set(texts)
    happy, unsure = (
        window.pixels_of(picture, colour) for colour in (EMOTION_HEX["happiness"], UNSURE_HEX)
    )
    assert happy > 3 * unsure > 0


def test_faces_are_in_it_only_if_they_were_kept(window: Any) -> None:
    plain, faces = (
        draw_summary(summary_of(window, keep), "camera 0", None) for keep in (False, True)
    )
    white = [int(np.all(picture == 250, axis=2).sum()) for picture in (plain, faces)]
    assert white[0] == 0
    assert white[1] > 48 * 48


def test_a_run_without_faces_has_a_picture_that_says_so(window: Any, texts: list[str]) -> None:
    draw_summary(RunSummary(), "camera 0", None)
    assert "no face was read" in texts


def test_only_the_user_may_read_it(window: Any, tmp_path: Path) -> None:
    path = tmp_path / "summary.png"
    save_summary(path, summary_of(window), "camera 0", None)
    assert path.stat().st_mode & 0o777 == 0o600
    assert cv2.imread(str(path)) is not None
