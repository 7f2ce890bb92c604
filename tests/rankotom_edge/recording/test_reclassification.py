from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.reclassification import reclassify
from rankotom_edge.recording.session import read_session

Record = Callable[..., Path]


def test_the_same_model_reads_the_video_as_it_read_the_camera(
    record: Record,
    tmp_path: Path,
    frames: list[FrameReadings],
    classifier: Classifier,
) -> None:
    session = read_session(record(tmp_path, frames, video=True))
    labels, recorded, again = reclassify(session, classifier)
    assert labels == session.model.labels
    assert recorded.shape == again.shape == (11, len(labels))
    raw = [reading.raw for again in frames for reading in again.readings]
    np.testing.assert_allclose(recorded, raw, atol=1e-5)
    assert (recorded.argmax(axis=1) == again.argmax(axis=1)).mean() > 0.9
    assert np.abs(recorded - again).sum(axis=1).mean() / 2 < 0.02


def relabelled(artifact: Artifact, labels: tuple[str, ...]) -> Classifier:
    return Classifier(replace(artifact, card=replace(artifact.card, labels=labels)))


def test_labels_in_another_order_are_matched_by_name(
    record: Record,
    tmp_path: Path,
    frames: list[FrameReadings],
    classifier: Classifier,
) -> None:
    session = read_session(record(tmp_path, frames, video=True))
    straight = reclassify(session, classifier)
    turned = reclassify(session, relabelled(classifier.artifact, session.model.labels[::-1]))
    assert turned.labels == straight.labels
    np.testing.assert_allclose(turned.again, straight.again[:, ::-1])


def test_a_session_that_cannot_be_read_again_says_why(
    record: Record,
    tmp_path: Path,
    frames: list[FrameReadings],
    classifier: Classifier,
) -> None:
    silent = read_session(record(tmp_path / "silent", frames))
    with pytest.raises(RankotomError, match=r"has no video for another model.*--record-video"):
        reclassify(silent, classifier)
    filmed = read_session(record(tmp_path / "filmed", frames, video=True))
    others = ("boredom", *filmed.model.labels[1:])
    with pytest.raises(RankotomError, match=r"names boredom.*the same labels"):
        reclassify(filmed, relabelled(classifier.artifact, others))
    empty = read_session(record(tmp_path / "empty", frames[3:4], video=True))
    with pytest.raises(RankotomError, match="no face in the session"):
        reclassify(empty, classifier)
