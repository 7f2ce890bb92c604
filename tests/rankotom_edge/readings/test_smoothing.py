"""Bars that hold still, follow a change, and mean what they say."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from calib.metrics import adaptive_ece, ece, nll
from calib.prediction_files import read_predictions
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.smoothing import MAX_GAP, Smoother, label_changes_per_minute
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset, validation_half
from train.experiments.smoothing import (
    calibration_changes,
    classify_videos,
    flicker,
    measure,
    smooth,
)

CACHE = data_folder(None)
HELD_OUT = Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz"
needs_framed_ferplus = pytest.mark.skipif(
    not list((CACHE / "framed").glob("ferplus-valid-report-*-48x48x1-*.npy"))
    or not (CACHE / "FERPlus" / "fer2013new.csv").exists(),
    reason=f"FERPlus, framed by a first run, is not in {CACHE}",
)

FPS = 30
HAPPY = np.array([0.05, 0.9, 0.03, 0.02])
SAD = np.array([0.1, 0.03, 0.02, 0.85])

Array = NDArray[np.float64]


def softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def distance(first: Array, second: Array) -> float:
    return float(np.abs(first - second).sum() / 2)


def test_a_steady_face_is_shown_exactly_as_it_is_read() -> None:
    np.testing.assert_allclose(smooth(np.tile(HAPPY, (60, 1))), np.tile(HAPPY, (60, 1)))


def test_at_first_every_frame_counts_alike() -> None:
    second = np.array([0.2, 0.7, 0.05, 0.05])
    even = softmax((np.log(HAPPY) + np.log(second)) / 2)
    np.testing.assert_allclose(smooth(np.stack([HAPPY, second]))[-1], even, atol=0.02)


def test_frames_that_disagree_are_less_sure_than_their_average_and_the_same_frame_is_not() -> None:
    one, other = np.array([0.05, 0.8, 0.1, 0.05]), np.array([0.05, 0.55, 0.35, 0.05])
    average = softmax((np.log(one) + np.log(other)) / 2)
    differing = smooth(np.stack([one, other] * 30))[-1]
    assert differing[1] < average[1] - 0.005
    np.testing.assert_allclose(smooth(np.stack([one] * 60))[-1], one)


def test_fifteen_and_sixty_frames_a_second_give_the_same_curve() -> None:
    """A smile that comes and goes; at equal times both rates show the same."""

    def smile(seconds: Array) -> Array:
        strength = 4 * np.sin(np.pi * seconds / 2) ** 2
        return softmax(np.stack([np.full_like(seconds, 2.0), strength], axis=-1))

    slow = smooth(smile(np.arange(0, 4, 1 / 15)), fps=15)
    fast = smooth(smile(np.arange(0, 4, 1 / 60)), fps=60)
    assert np.ptp(slow[:, 1]) > 0.4
    assert np.abs(slow - fast[::4]).max() < 0.05


def test_the_average_forgets_by_time_and_not_by_frames() -> None:
    """After a change too small for a fresh start, half a second goes as far at any rate."""
    calm, tense = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    ends = [
        smooth(np.array([calm] * round(2 * fps) + [tense] * round(0.5 * fps)), fps)[-1, 1]
        for fps in (10, 30, 120)
    ]
    assert np.ptp(ends) < 0.03


@pytest.mark.parametrize("fps", [10, 30, 60])
def test_a_single_bad_frame_changes_little(fps: float) -> None:
    sequence = np.array([HAPPY] * 2 * fps + [SAD] + [HAPPY] * fps)
    shown = smooth(sequence, fps)
    assert (shown.argmax(axis=1) == HAPPY.argmax()).all()
    assert max(distance(row, HAPPY) for row in shown) < 0.3


@pytest.mark.parametrize("fps", [15, 30, 60])
def test_a_change_that_lasts_is_followed_within_a_tenth_of_a_second(fps: float) -> None:
    shown = smooth(np.array([HAPPY] * 2 * fps + [SAD] * fps), fps)
    frames = next(index for index, row in enumerate(shown[2 * fps :]) if distance(row, SAD) < 0.05)
    assert frames / fps < 0.1


def test_frames_that_contradict_each_other_make_it_less_sure() -> None:
    shown = smooth(np.array([HAPPY, SAD] * 30))
    assert shown[20:].max() < 0.65


def test_a_probability_of_zero_is_not_held_against_a_class_for_ever() -> None:
    zero = np.array([0.0, 1.0, 0.0, 0.0])
    shown = smooth(np.array([zero] * 30 + [SAD] * 10))
    assert distance(shown[-1], SAD) < 0.05


def test_faces_do_not_mix() -> None:
    smoother = Smoother()
    smoother.update(1, HAPPY, 0.0)
    np.testing.assert_allclose(smoother.update(2, SAD, 0.01), SAD)
    np.testing.assert_allclose(smoother.update(1, HAPPY, 0.02), HAPPY)


@pytest.mark.parametrize("pause", [MAX_GAP + 0.1, -5.0])
def test_after_a_long_gap_or_a_jump_back_it_starts_afresh(pause: float) -> None:
    smoother = Smoother()
    for index in range(30):
        smoother.update(1, HAPPY, 10 + index / FPS)
    np.testing.assert_allclose(smoother.update(1, SAD, 11 + pause), SAD)


def test_a_frame_that_comes_twice_counts_once() -> None:
    smoother = Smoother()
    first = smoother.update(1, HAPPY, 0.0)
    np.testing.assert_array_equal(smoother.update(1, SAD, 0.0), first)


def test_faces_that_left_are_forgotten() -> None:
    smoother = Smoother()
    for track in range(5_000):
        smoother.update(track, HAPPY, track / FPS)
        smoother.forget_old(track / FPS)
    assert len(smoother) <= FPS * MAX_GAP + 1


def test_an_update_is_cheap() -> None:
    smoother, random = Smoother(), np.random.default_rng(0)
    rows = random.dirichlet(np.ones(8), 500)
    started = time.thread_time()
    for index, row in enumerate(rows):
        smoother.update(1, row, index / FPS)
    assert (time.thread_time() - started) / len(rows) < 0.0005


def test_flicker_is_label_changes_per_minute() -> None:
    rows = np.array([HAPPY, SAD, SAD, HAPPY, HAPPY])
    assert label_changes_per_minute(rows, [0.0, 0.5, 1.0, 1.5, 2.0]) == pytest.approx(60)
    assert label_changes_per_minute(rows[:1], [0.0]) == 0


def test_noise_in_the_readings_of_held_out_faces_is_taken_out_and_calibration_kept() -> None:
    """Real probabilities; each frame's logits are moved as much as a jittered crop's. The labels
    are drawn from the probabilities, so that the noise's error alone is measured, and eight times
    over, so that chance does not hide it.

    One frame of each face is judged: to count all would let the raw ones, which scatter over more
    bins, look better for being noisier.
    """
    probabilities = np.repeat(read_predictions(HELD_OUT).probabilities, 8, axis=0)
    random = np.random.default_rng(0)
    drawn = random.random((len(probabilities), 1))
    labels = (probabilities.cumsum(axis=1)[:, :-1] < drawn).sum(axis=1)
    noise = random.normal(0, 0.5, (len(probabilities), 15, probabilities.shape[1]))
    raw = softmax(np.log(np.maximum(probabilities, 1e-9))[:, np.newaxis] + noise)
    calm = np.array([smooth(sequence) for sequence in raw])
    for error in (ece, adaptive_ece):
        before, after = (
            error(rows.max(axis=1), rows.argmax(axis=1) == labels)
            for rows in (raw[:, -1], calm[:, -1])
        )
        assert after <= before
    assert nll(calm[:, -1], labels) < nll(raw[:, -1], labels)
    assert flicker(calm) < 0.3 * flicker(raw)


@needs_framed_ferplus
def test_smoothed_readings_of_shaken_faces_are_as_calibrated_as_raw_ones_and_flicker_less() -> None:
    """Held-out faces filmed by a shaking, noisy camera and read by the embedded model.

    ``python -m train.experiments.smoothing`` measures it on all faces of valid. These 447 are
    enough to notice a change of ECE by two points.
    """
    artifact = load_artifact("ferplus-int8")
    faces = validation_half(load_dataset("ferplus", CACHE, "valid"), "report")
    assert faces.labels is not None
    labels = faces.labels[::4]
    with Classifier(artifact) as classifier:
        crops = load_crops(faces, 48, 1, None, CACHE / "framed")[::4]
        raw = classify_videos(classifier, crops, frames=10)
    calm = np.array([smooth(sequence) for sequence in raw])
    for low, value, _ in calibration_changes(raw, calm, labels, resamples=60):
        assert low <= 0
        assert value < 0.01
    before, after = measure(raw, labels), measure(calm, labels)
    assert after.nll < before.nll
    assert after.accuracy > before.accuracy - 0.005  # two of the 447 faces
    assert abs(after.confidence - after.accuracy) < 0.02
    assert flicker(calm) < 0.4 * flicker(raw)
