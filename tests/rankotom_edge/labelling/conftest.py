"""Faces to label: the portrait of the demo, moved, mirrored and lit in different ways.

Also a program, for tests that need a process: ``python conftest.py LABELS RATER COUNT`` labels in
the terminal, and with a port after COUNT in the browser.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge import interrupts
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.labelling.label_file import Label
from rankotom_edge.labelling.labelling import open_labelling
from rankotom_edge.labelling.votes import LabelledModel
from rankotom_edge.sources.demo import demo_picture, load_portrait

MODEL = LabelledModel("ferplus-int8", "5" * 64, EMOTIONS)
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
ENOUGH = 5
LOGIT = 12345.5  # of the first expression of the first face: stands nowhere else


def make_faces(count: int) -> list[FaceToLabel]:
    """Three of them are a group."""
    portrait = load_portrait()
    faces = []
    for number in range(count):
        picture = demo_picture(portrait, 1.7 * number)[0:270, 190:460]
        if number % 2:
            picture = cv2.flip(picture, 1)
        lit = cv2.convertScaleAbs(picture, alpha=0.55 + 0.15 * (number % 4), beta=8 * (number % 3))
        logits = np.array([LOGIT + number, *range(1, len(EMOTIONS))])
        faces.append(
            FaceToLabel(f"made/{number}", f"track {number // 3}", np.asarray(lit, np.uint8), logits)
        )
    return faces


def make_label(face: str = "f1", rater: str = "Anna", **changed: object) -> Label:
    given = {
        "face": face,
        "group": f"track of {face}",
        "rater": rater,
        "expression": "happiness",
        "logits": tuple(float(number) for number in range(len(EMOTIONS))),
        "model": MODEL.name,
        "sha256": MODEL.sha256,
        "time": NOON,
    }
    return Label(**{**given, **changed})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def faces() -> Callable[[int], list[FaceToLabel]]:
    return make_faces


@pytest.fixture(scope="session")
def label() -> Callable[..., Label]:
    return make_label


@pytest.fixture(scope="session")
def model() -> LabelledModel:
    return MODEL


@pytest.fixture(scope="session")
def program() -> list[str]:
    return [sys.executable, __file__]


def main() -> None:
    interrupts.install_end_handlers()
    path, rater, count, *port = sys.argv[1:]
    with open_labelling(
        Path(path),
        make_faces(int(count)),
        MODEL,
        rater,
        enough=ENOUGH,
        clock=lambda: datetime.now(timezone.utc),
    ) as labelling:
        if port:
            from rankotom_edge.labelling.web.label import label_in_browser
            from rankotom_edge.views.web.address import listen

            address = listen(port=int(port[0]))
            label_in_browser(labelling, address, lambda link: print(link, flush=True))
        else:
            from rankotom_edge.labelling.terminal import label_in_terminal

            label_in_terminal(labelling)
    print("went on")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
