"""Chooses the faces to label: spread over confidence, and those whose labels tell most."""

from collections.abc import Sequence

import numpy as np

from calib.arrays import FloatArray
from calib.rater import label_information
from calib.temperature import softmax
from rankotom_edge.labelling.face import FaceToLabel

PARTS = 5  # of the range of confidence; each gives as many faces, as far as it has them


def choose_faces(faces: Sequence[FaceToLabel], wanted: int) -> list[FaceToLabel]:
    """The same ones in every run, so that raters label the same."""
    if not faces:
        return []
    ordered = sorted(faces, key=lambda face: face.key)
    logits = np.stack([face.logits for face in ordered])
    rows = choose_rows(logits, [face.group for face in ordered], wanted)
    return [ordered[row] for row in rows]


def choose_rows(logits: FloatArray, groups: Sequence[str], wanted: int) -> list[int]:
    """Sure and unsure faces alike: from each part of the range of confidence in turn. Within a
    part from as many groups as can be, and first those whose labels tell most of the temperature.

    Faces at random from each part would need about twice as many labels for the same certainty
    (docs/results.md, "A user's own labels").
    """
    confidence = softmax(logits).max(axis=1)
    edges = np.linspace(confidence.min(), confidence.max(), PARTS + 1)[1:-1]
    part = np.digitize(confidence, edges)
    telling = np.argsort(-label_information(logits), kind="stable").tolist()
    taken: dict[tuple[int, str], int] = {}
    queues: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]
    for place, row in enumerate(telling):
        turn = taken[part[row], groups[row]] = taken.get((part[row], groups[row]), 0) + 1
        queues[part[row]].append((turn, place))
    for queue in queues:
        queue.sort(reverse=True)
    chosen: list[int] = []
    while len(chosen) < wanted and any(queues):
        for queue in queues:
            if queue and len(chosen) < wanted:
                chosen.append(telling[queue.pop()[1]])
    return chosen
