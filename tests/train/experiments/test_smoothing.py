"""Faces in front of a shaking camera, and the metrics of their readings."""

import numpy as np
import pytest

from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from train.experiments.smoothing import (
    calibration_changes,
    classify_videos,
    flicker,
    measure,
    running_means,
    shake,
    smooth,
)

LABELS = np.arange(400) % 2


def readings(correct: float) -> np.ndarray:
    """Twelve frames of 400 faces at 80 % confidence, of which the share ``correct`` is right."""
    first = np.where(np.arange(400) < 400 * correct, LABELS, 1 - LABELS)
    rows = np.where(np.arange(2) == first[:, np.newaxis], 0.8, 0.2)
    return np.repeat(rows[:, np.newaxis], 12, axis=1)


def test_each_frame_is_the_same_face_and_none_is_the_same_picture() -> None:
    face = np.tile(np.linspace(0, 255, 48, dtype=np.uint8), (1, 48, 1))
    frames = shake(face, 6, np.random.default_rng(0))
    assert frames.shape == (6, 1, 48, 48)
    assert frames.dtype == np.uint8
    for frame in frames:
        assert np.corrcoef(frame.ravel(), face.ravel())[0, 1] > 0.97
        assert not np.array_equal(frame, face)
    assert len({frame.tobytes() for frame in frames}) == 6


def test_metrics_are_those_of_a_frame() -> None:
    found = measure(readings(0.8), LABELS)
    assert (found.accuracy, found.confidence) == pytest.approx((0.8, 0.8))
    assert found.ece == pytest.approx(0, abs=1e-9)
    assert measure(readings(0.6), LABELS).ece == pytest.approx(0.2)


def test_a_change_lies_in_its_interval_and_a_large_one_excludes_zero() -> None:
    low, value, high = calibration_changes(readings(0.8), readings(0.6), LABELS, resamples=40)[0]
    assert 0 < low < value < high
    assert value == pytest.approx(0.2)
    low, value, high = calibration_changes(readings(0.8), readings(0.8), LABELS, resamples=10)[1]
    assert (low, value, high) == (0, 0, 0)


def test_both_ways_of_smoothing_stop_the_flicker() -> None:
    to_and_fro = np.tile([[0.9, 0.1], [0.4, 0.6]], (8, 1))
    assert flicker(to_and_fro[np.newaxis]) > 1000
    for calm in (smooth(to_and_fro), running_means(to_and_fro)):
        assert flicker(calm[np.newaxis]) == 0
        np.testing.assert_allclose(calm.sum(axis=1), 1)


def test_a_video_is_classified_frame_by_frame_and_alike_each_time(tiny_artifact: Artifact) -> None:
    size = tiny_artifact.card.crop.size
    faces = np.random.default_rng(0).integers(0, 256, (2, 1, size, size), dtype=np.uint8)
    with Classifier(tiny_artifact) as classifier:
        probabilities = classify_videos(classifier, faces, frames=4)
        assert np.array_equal(probabilities, classify_videos(classifier, faces, frames=4))
    assert probabilities.shape == (2, 4, len(tiny_artifact.card.labels))
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, atol=1e-5)
