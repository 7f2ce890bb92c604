"""Reads the faces of a recorded session again, with another model."""

import itertools
from typing import NamedTuple

import numpy as np

from calib.arrays import FloatArray
from calib.errors import RankotomError
from rankotom_edge.faces.crop import crop
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.recording.session import Session

BATCH = 64


class Reclassification(NamedTuple):
    """Probabilities of every face in a session: one row per face, one column per label."""

    labels: tuple[str, ...]
    recorded: FloatArray  # of single frames, not smoothed
    again: FloatArray  # by the other model


def reclassify(session: Session, classifier: Classifier) -> Reclassification:
    card, labels = classifier.artifact.card, session.model.labels
    if not session.has_video:
        raise RankotomError(
            f"The session {session.folder} has no video for another model to read. "
            "Record one with: rankotom-edge camera --record DIR --record-video"
        )
    if set(card.labels) != set(labels):
        raise RankotomError(
            f"{card.name} names {', '.join(card.labels)}; the session was recorded by a model that "
            f"names {', '.join(labels)}. Only models with the same labels can be compared."
        )
    columns = [card.labels.index(name) for name in labels]
    framing, size, channels = card.crop.framing, card.crop.size, card.crop.channels
    faces = (
        (reading.raw, crop(recorded.frame.image, reading.face, framing, size, channels))
        for recorded in session.frames()
        for reading in recorded.readings
    )
    recorded, again = [], []
    while batch := list(itertools.islice(faces, BATCH)):
        recorded += [raw for raw, _ in batch]
        scores = classifier.classify(np.stack([face for _, face in batch]))
        again.append(scores.probabilities[:, columns].astype(np.float64))
    if not recorded:
        raise RankotomError(f"There is no face in the session {session.folder}.")
    return Reclassification(labels, np.stack(recorded), np.concatenate(again))
