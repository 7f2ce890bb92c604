"""A shift is significant as seldom as stated, and small ones do not matter."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from calib.prediction_files import read_predictions
from rankotom_edge.readings.population_shift import (
    SIGNIFICANCE,
    has_shifted,
    merge_bins,
    p_value,
    stability_index,
)

HELD_OUT = read_predictions(Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz")
Array = NDArray[np.float64]


def binned(probabilities: Array) -> NDArray[np.int64]:
    return np.histogram(probabilities.max(axis=1), bins=15, range=(0, 1))[0]


def test_the_stability_index_is_as_computed_by_hand() -> None:
    half_and_half, tilted = np.array([5000, 5000]), np.array([8000, 2000])
    by_hand = 0.3 * np.log(0.8 / 0.5) - 0.3 * np.log(0.2 / 0.5)
    assert stability_index(tilted, half_and_half) == pytest.approx(by_hand, rel=1e-3)
    assert stability_index(half_and_half, half_and_half) == 0
    nearly_empty = np.array([1, 0, 2, 4000, 3, 4000])
    assert stability_index(np.array([0, 3, 0, 4000, 0, 4000]), nearly_empty) < 0.01


def test_what_is_beyond_chance_must_also_be_enough_to_matter() -> None:
    reference = np.array([1_000_000, 1_000_000])
    slight, marked = np.array([194, 106]), np.array([200, 100])
    assert p_value(slight, reference) < SIGNIFICANCE
    assert not has_shifted(slight, reference)
    assert has_shifted(marked, reference)


@pytest.mark.parametrize("faces", [60, 150, 300])
def test_faces_of_one_kind_are_beyond_chance_as_seldom_as_is_said(faces: int) -> None:
    """The reference is drawn too: the artifact's faces are a sample like any other."""
    random = np.random.default_rng(faces)
    values, with_frames = [], []
    for _ in range(1500):
        order = random.permutation(len(HELD_OUT))
        seen, measured = (HELD_OUT.probabilities[rows] for rows in np.split(order, [faces]))
        values.append(p_value(binned(seen), binned(measured)))
        with_frames.append(p_value(30 * binned(seen), binned(measured)))
    for level in (0.2, 0.05, 0.01):
        assert np.mean(np.array(values) <= level) <= level
    assert np.mean(np.array(with_frames) <= 0.05) > 0.25  # a second of each, taken for 30 faces


def test_small_bins_are_merged_with_their_neighbours() -> None:
    assert merge_bins(np.array([1, 2, 40, 3, 54])).tolist() == [0, 0, 0, 1, 1]
