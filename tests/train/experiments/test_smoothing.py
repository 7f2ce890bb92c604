"""Faces before a shaking camera, and the figures that are taken of them."""

import numpy as np
import pytest

from train.experiments.smoothing import changes, figures, flicker, running_means, shaken, smoothed

LABELS = np.arange(400) % 2


def said(right: float) -> np.ndarray:
    """Twelve frames of 400 faces, all at 80 %, of which so many are right."""
    first = np.where(np.arange(400) < 400 * right, LABELS, 1 - LABELS)
    rows = np.where(np.arange(2) == first[:, np.newaxis], 0.8, 0.2)
    return np.repeat(rows[:, np.newaxis], 12, axis=1)


def test_each_frame_is_the_same_face_and_none_is_the_same_picture() -> None:
    face = np.tile(np.linspace(0, 255, 48, dtype=np.uint8), (1, 48, 1))
    frames = shaken(face, 6, np.random.default_rng(0))
    assert frames.shape == (6, 1, 48, 48)
    assert frames.dtype == np.uint8
    for frame in frames:
        assert np.corrcoef(frame.ravel(), face.ravel())[0, 1] > 0.97
        assert not np.array_equal(frame, face)
    assert len({frame.tobytes() for frame in frames}) == 6


def test_the_figures_are_those_of_a_frame() -> None:
    found = figures(said(0.8), LABELS)
    assert (found.accuracy, found.confidence) == pytest.approx((0.8, 0.8))
    assert found.ece == pytest.approx(0, abs=1e-9)
    assert figures(said(0.6), LABELS).ece == pytest.approx(0.2)


def test_a_change_stands_between_its_limits_and_a_large_one_is_beyond_chance() -> None:
    low, value, high = changes(said(0.8), said(0.6), LABELS, resamples=40)[0]
    assert 0 < low < value < high
    assert value == pytest.approx(0.2)
    low, value, high = changes(said(0.8), said(0.8), LABELS, resamples=10)[1]
    assert (low, value, high) == (0, 0, 0)


def test_both_ways_to_hold_still_do() -> None:
    to_and_fro = np.tile([[0.9, 0.1], [0.4, 0.6]], (8, 1))
    assert flicker(to_and_fro[np.newaxis]) > 1000
    for calm in (smoothed(to_and_fro), running_means(to_and_fro)):
        assert flicker(calm[np.newaxis]) == 0
        np.testing.assert_allclose(calm.sum(axis=1), 1)
