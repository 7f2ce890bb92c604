"""Faces to label: the portrait of the demo, moved, mirrored and lit in different ways.

Also a program, for tests that need a process: ``python made.py LABELS RATER COUNT PORT`` labels in
the terminal, or in the browser if PORT is given.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np

from calib.emotions import EMOTIONS
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.labelling.labelling import open_labelling
from rankotom_edge.labelling.votes import LabelledModel
from rankotom_edge.sources.demo import demo_picture, load_portrait

MODEL = LabelledModel("ferplus-int8", "5" * 64, EMOTIONS)
ENOUGH = 5


def make_faces(count: int) -> list[FaceToLabel]:
    """Three of them a group. The logits are numbers that stand nowhere else."""
    portrait = load_portrait()
    faces = []
    for number in range(count):
        picture = demo_picture(portrait, 1.7 * number)[0:270, 190:460]
        if number % 2:
            picture = cv2.flip(picture, 1)
        lit = cv2.convertScaleAbs(picture, alpha=0.55 + 0.15 * (number % 4), beta=8 * (number % 3))
        logits = np.array([12345.5 + number, *range(1, len(EMOTIONS))])
        faces.append(
            FaceToLabel(f"made/{number}", f"track {number // 3}", np.asarray(lit, np.uint8), logits)
        )
    return faces


def main() -> None:
    from rankotom_edge import interrupts

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

            address = replace(listen(port=int(port[0])), token=None)
            label_in_browser(labelling, address, lambda link: print(link, flush=True))
        else:
            from rankotom_edge.labelling.terminal import label_in_terminal

            label_in_terminal(labelling)
    print("went on")


if __name__ == "__main__":
    main()
