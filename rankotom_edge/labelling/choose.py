"""Chooses the faces to label: spread over confidence, so that every label tells most."""

from collections.abc import Sequence

import numpy as np

from calib.temperature import softmax
from rankotom_edge.labelling.face import FaceToLabel

PARTS = 5  # of the range of confidence; each gives as many faces, as far as it has them


def choose_faces(faces: Sequence[FaceToLabel], wanted: int) -> list[FaceToLabel]:
    """Sure and unsure ones alike, and within each part of the range from as many groups as can be.

    The same faces are chosen in every run, so that raters label the same ones.
    """
    if not faces:
        return []
    confidence = softmax(np.stack([face.logits for face in faces])).max(axis=1)
    edges = np.linspace(confidence.min(), confidence.max(), PARTS + 1)[1:-1]
    parts: list[list[FaceToLabel]] = [[] for _ in range(PARTS)]
    for face, part in zip(faces, np.digitize(confidence, edges), strict=True):
        parts[part].append(face)
    queues = [_groups_in_turn(part) for part in parts]
    chosen: list[FaceToLabel] = []
    while len(chosen) < wanted and any(queues):
        for queue in queues:
            if queue and len(chosen) < wanted:
                chosen.append(queue.pop(0))
    return chosen


def _groups_in_turn(faces: Sequence[FaceToLabel]) -> list[FaceToLabel]:
    """The first of each group, then the second of each: by key, which is as good as by chance."""
    taken: dict[str, int] = {}
    order = []
    for face in sorted(faces, key=lambda face: face.key):
        turn = taken[face.group] = taken.get(face.group, 0) + 1
        order.append((turn, face.key, face))
    return [face for _, _, face in sorted(order, key=lambda each: each[:2])]
