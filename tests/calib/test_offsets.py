"""Offsets correct a model that predicts a class too often or too seldom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.metrics import nll
from calib.offsets import PRIOR, fit_offsets
from calib.temperature import fit_temperature, softmax


def drawn(count: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from their probabilities."""
    random = np.random.default_rng(seed)
    logits = random.normal(scale=2, size=(count, classes))
    chance = random.random((count, 1))
    return logits, (softmax(logits).cumsum(axis=1) < chance).sum(axis=1).clip(max=classes - 1)


def test_a_calibrated_model_needs_none() -> None:
    assert np.abs(fit_offsets(*drawn(20_000, 4, seed=0))).max() < 0.06


def test_what_was_added_to_a_class_is_found_and_taken_off_again() -> None:
    logits, labels = drawn(20_000, 4, seed=1)
    added = np.array([0.9, -0.3, -0.3, -0.3])
    np.testing.assert_allclose(fit_offsets(logits + added, labels), -added, atol=0.08)


def test_they_are_found_together_with_a_temperature_and_in_units_of_the_logits() -> None:
    logits, labels = drawn(20_000, 4, seed=2)
    added = np.array([0.9, -0.3, -0.3, -0.3])
    offsets = fit_offsets(3 * (logits + added), labels)
    np.testing.assert_allclose(offsets, -3 * added, atol=0.25)
    assert fit_temperature(3 * (logits + added) + offsets, labels) == pytest.approx(3, rel=0.05)


def test_no_other_offsets_cost_less() -> None:
    logits, labels = drawn(200, 3, seed=3)

    def cost(offsets: np.ndarray) -> float:
        """The cost in the docstring, at the best of many temperatures."""
        return min(
            nll(softmax((logits + offsets) / t), labels)
            + float(np.square(offsets / t).sum()) / (2 * 200 * PRIOR**2)
            for t in np.linspace(0.5, 2, 601)
        )

    found = fit_offsets(logits, labels)
    least = cost(found)
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        assert cost(found + 0.05 * direction) > least


def test_a_class_with_few_faces_moves_little() -> None:
    logits, labels = drawn(2000, 3, seed=4)
    added = np.array([0.6, 0, 0])
    many = fit_offsets(logits + added, labels)
    few = fit_offsets(logits[:12] + added, labels[:12])
    assert np.ptp(many) > 0.4
    assert np.ptp(few) < 0.4


@given(st.integers(1, 40), st.integers(2, 6), st.integers(0, 1000), st.floats(0.01, 50))
def test_it_never_costs_nll_and_the_sum_is_zero(
    count: int, classes: int, seed: int, scale: float
) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(scale=scale, size=(count, classes))
    labels = random.integers(0, classes, count)
    offsets = fit_offsets(logits, labels)
    assert np.isfinite(offsets).all()
    assert offsets.sum() == pytest.approx(0, abs=1e-6 * max(1, scale))
    before = nll(softmax(logits, fit_temperature(logits, labels)), labels)
    after = nll(softmax(logits + offsets, fit_temperature(logits + offsets, labels)), labels)
    assert after <= before + 1e-6


def test_where_every_face_is_right_or_wrong_there_are_none() -> None:
    logits = np.eye(3)[[0, 1, 2] * 5]
    assert not fit_offsets(logits, np.array([0, 1, 2] * 5)).any()
    assert not fit_offsets(logits, np.array([1, 2, 0] * 5)).any()
