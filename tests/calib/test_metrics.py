import math
import warnings
from typing import TypeAlias

import numpy as np
import pytest
import relplot
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from calib.errors import RankotomError
from calib.metrics import (
    BINS,
    accuracy,
    adaptive_ece,
    brier,
    classwise_ece,
    ece,
    mce,
    mean_recall,
    nll,
    other_bars,
    reliability,
    smooth_ece,
)

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Adversarial on purpose: edges of the 15 bins, their neighbours in float64, the ends, and ties.
EDGES = [index / BINS for index in range(BINS + 1)]
NEIGHBOURS = [float(np.nextafter(edge, side)) for edge in EDGES[1:-1] for side in (0, 1)]
confidences = st.one_of(
    st.floats(0, 1), st.sampled_from(EDGES), st.sampled_from(NEIGHBOURS), st.just(0.5)
)
outcomes = st.lists(st.tuples(confidences, st.booleans()), min_size=1, max_size=120)


def columns(rows: list[tuple[float, bool]]) -> tuple[Floats, NDArray[np.bool_]]:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def random_rows(seed: int, faces: int, classes: int, sharpness: float) -> tuple[Floats, Integers]:
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(classes, sharpness), size=faces)
    return rows, generator.integers(classes, size=faces)


def test_accuracy_is_the_share_of_rows_whose_largest_probability_is_the_label() -> None:
    assert accuracy([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1]) == pytest.approx(2 / 3)


def test_ece_weighs_the_gap_of_each_bin_by_its_count() -> None:
    # [0.9, 0.92] -> acc 0.5, conf 0.91; [0.5] -> acc 1, conf 0.5.
    assert ece([0.9, 0.92, 0.5], [1, 0, 1]) == pytest.approx((2 * 0.41 + 1 * 0.5) / 3)


def test_mce_is_the_largest_gap() -> None:
    assert mce([0.9, 0.92, 0.5], [1, 0, 1]) == pytest.approx(0.5)


def test_mce_can_leave_out_small_bins() -> None:
    assert mce([0.9, 0.92, 0.5], [1, 0, 1], least=2) == pytest.approx(0.41)


def test_mce_is_not_a_number_where_no_bin_is_large_enough() -> None:
    assert math.isnan(mce([0.9, 0.5], [1, 0], least=3))


def test_adaptive_ece_splits_the_sorted_samples_into_runs_of_equal_size() -> None:
    # Two runs: 0.2, 0.4 (acc 0.5, conf 0.3) and 0.6, 0.9 (acc 0.5, conf 0.75).
    measured = adaptive_ece([0.9, 0.2, 0.6, 0.4], [1, 0, 0, 1], bins=2)
    assert measured == pytest.approx((2 * 0.2 + 2 * 0.25) / 4)


def test_adaptive_ece_gives_the_first_runs_what_is_left_over() -> None:
    # Three samples in two runs: 0.2, 0.4 (gap 0.2 each way) and 0.9 (gap 0.1).
    assert adaptive_ece([0.2, 0.4, 0.9], [0, 1, 1], bins=2) == pytest.approx(
        (abs(-0.2 + 0.6) + 0.1) / 3
    )


def test_a_tie_across_two_equal_mass_bins_is_shared_between_them() -> None:
    # 0.2 | 0.5 0.5 | 0.8 with one of the tied right: each run gets a tied sample that is half
    # right, whichever comes first.
    expected = (abs(0 - 0.2 + 0.5 - 0.5) + abs(0.5 - 0.5 + 1 - 0.8)) / 4
    for tied in ([1, 0], [0, 1]):
        measured = adaptive_ece([0.2, 0.5, 0.5, 0.8], [0, *tied, 1], bins=2)
        assert measured == pytest.approx(expected)


def test_all_confidences_equal_is_one_gap_in_every_metric() -> None:
    confidence, correct = np.full(40, 0.7), np.arange(40) < 20
    for metric in (ece, adaptive_ece, mce):
        assert metric(confidence, correct) == pytest.approx(0.2)


def test_one_sample_has_one_gap_in_every_metric() -> None:
    for metric in (ece, adaptive_ece, mce):
        assert metric([0.75], [True]) == pytest.approx(0.25)
        assert metric([0.75], [False]) == pytest.approx(0.75)


def test_one_class_is_always_right_and_always_sure() -> None:
    rows, labels = np.ones((3, 1)), np.zeros(3, dtype=int)
    assert accuracy(rows, labels) == 1
    assert nll(rows, labels) == brier(rows, labels) == 0
    assert classwise_ece(rows, labels).tolist() == [0]


def test_a_confidence_on_an_inner_edge_belongs_to_the_bin_above() -> None:
    for index in range(1, BINS):
        occupied = [bin_.count for bin_ in reliability([index / BINS], [True])]
        assert occupied.index(1) == index


def test_a_confidence_of_one_belongs_to_the_last_bin() -> None:
    assert reliability([1.0], [True])[-1].count == 1
    assert ece([1.0, 0.95], [0, 1]) == pytest.approx((1 - 0.05) / 2)


def test_an_empty_bin_has_no_confidence_and_no_accuracy_and_adds_nothing() -> None:
    bins = reliability([0.1, 0.9], [False, True], bins=3)
    assert [(bin_.count, bin_.confidence, bin_.accuracy) for bin_ in bins] == [
        (1, 0.1, 0.0),
        (0, None, None),
        (1, 0.9, 1.0),
    ]
    assert bins[1].gap is None
    assert bins[2].gap == pytest.approx(0.1)
    assert (bins[0].low, bins[-1].high) == (0, 1)


def test_nll_is_the_mean_surprise_at_the_label() -> None:
    measured = nll([[0.5, 0.5], [0.1, 0.9]], [0, 1])
    assert measured == pytest.approx(-(math.log(0.5) + math.log(0.9)) / 2)


def test_a_label_given_no_probability_costs_much_but_not_infinity() -> None:
    assert nll([[1.0, 0.0]], [1]) == pytest.approx(52 * math.log(2))


def test_brier_is_the_squared_distance_over_all_classes() -> None:
    assert brier([[0.5, 0.3, 0.2]], [0]) == pytest.approx(0.25 + 0.09 + 0.04)


def test_mean_recall_counts_a_rare_class_as_much_as_a_frequent_one() -> None:
    rows = [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.7, 0.3, 0.0], [0.4, 0.6, 0.0], [0.6, 0.4, 0.0]]
    labels = [0, 0, 0, 0, 1]  # three of four, none of one, and no face of the last class
    assert mean_recall(rows, labels) == pytest.approx((0.75 + 0) / 2)


def test_classwise_ece_reads_each_column_as_a_yes_or_no_model() -> None:
    measured = classwise_ece([[0.8, 0.2], [0.7, 0.3]], [0, 1])
    # Column 0: 0.8 yes (gap 0.2), 0.7 no (gap 0.7); column 1 is its mirror image.
    assert measured == pytest.approx([0.45, 0.45])


def test_no_bins_is_an_error() -> None:
    with pytest.raises(RankotomError, match="at least one bin, not 0"):
        ece([0.5], [1], bins=0)


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([], [], "confidences are empty"),
        ([0.5, math.nan], [1, 0], "confidences hold NaN or infinity in 1 value, first in row 1"),
        ([0.5, 1.2], [1, 0], "must lie in 0 to 1, but row 1 holds 1.2"),
        ([-0.2], [1], "must lie in 0 to 1, but row 0 holds -0.2"),
        ([0.5, 0.6], [1], "There are 2 confidences, but the outcomes have shape"),
        ([0.5], [2], "must be right or wrong"),
        ([[0.5]], [1], "confidences have shape"),
        (["sure"], [1], "confidences must be numbers"),
    ],
)
def test_confidences_that_are_none_are_refused(
    confidence: ArrayLike, correct: ArrayLike, message: str
) -> None:
    for metric in (ece, adaptive_ece, mce, reliability):
        with pytest.raises(RankotomError, match=message):
            metric(confidence, correct)


@given(outcomes)
def test_permuting_the_samples_changes_nothing(rows: list[tuple[float, bool]]) -> None:
    confidence, correct = columns(rows)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    for metric in (ece, adaptive_ece, mce):
        assert metric(confidence, correct) == pytest.approx(
            metric(confidence[shuffled], correct[shuffled]), abs=1e-12
        )


@given(outcomes)
def test_the_average_gap_never_exceeds_the_largest(rows: list[tuple[float, bool]]) -> None:
    confidence, correct = columns(rows)
    assert 0 <= ece(confidence, correct) <= mce(confidence, correct) + 1e-12 <= 1 + 1e-12


@given(outcomes)
def test_with_one_bin_equal_width_and_equal_mass_are_the_same(
    rows: list[tuple[float, bool]],
) -> None:
    confidence, correct = columns(rows)
    whole = abs(float(np.mean(correct - confidence)))
    assert ece(confidence, correct, bins=1) == pytest.approx(whole, abs=1e-12)
    assert adaptive_ece(confidence, correct, bins=1) == pytest.approx(whole, abs=1e-12)


@given(outcomes)
def test_the_bins_of_the_diagram_add_up_to_the_ece(rows: list[tuple[float, bool]]) -> None:
    confidence, correct = columns(rows)
    bins = reliability(confidence, correct)
    summed = sum(bin_.count * abs(bin_.gap) for bin_ in bins if bin_.gap is not None)
    assert summed / len(rows) == pytest.approx(ece(confidence, correct), abs=1e-12)


@pytest.mark.parametrize("faces", [7, 15, 1000, 3573])
def test_without_ties_equal_mass_bins_are_numpys_array_split(faces: int) -> None:
    generator = np.random.default_rng(faces)
    confidence = generator.permutation(np.linspace(0.1, 1, faces))
    correct = generator.random(faces) < 0.7
    runs = np.array_split(np.argsort(confidence), BINS)
    expected = sum(abs(float(np.sum(correct[run] - confidence[run]))) for run in runs) / faces
    assert adaptive_ece(confidence, correct) == pytest.approx(expected, abs=1e-12)


def test_a_perfectly_calibrated_classifier_has_an_ece_near_zero() -> None:
    generator = np.random.default_rng(3)
    confidence = generator.random(200_000)
    correct = generator.random(200_000) < confidence
    assert ece(confidence, correct) < 0.006
    assert adaptive_ece(confidence, correct) < 0.006


@settings(max_examples=60)
@given(outcomes)
def test_torchmetrics_agrees_on_edges_ties_and_empty_bins(rows: list[tuple[float, bool]]) -> None:
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    # torchmetrics gives exactly 1 a bin of its own, and its edges are torch.linspace's, of which
    # one differs from m / 15 by a unit in the last place.
    theirs = set(torch.linspace(0, 1, BINS + 1, dtype=torch.float64).tolist())
    disputed = theirs.symmetric_difference(EDGES)
    kept = [row for row in rows if row[0] < 1 and row[0] not in disputed]
    if not kept:
        return
    confidence, correct = columns(kept)
    for norm, metric in (("l1", ece), ("max", mce)):
        reference = functional.binary_calibration_error(
            torch.tensor(confidence, dtype=torch.float64),
            torch.tensor(correct.astype(int)),
            n_bins=BINS,
            norm=norm,
        )
        assert metric(confidence, correct) == pytest.approx(float(reference), abs=1e-6)


@pytest.mark.parametrize("sharpness", [0.05, 0.3, 5.0])
@pytest.mark.parametrize(("faces", "classes"), [(1, 3), (40, 8), (3573, 8)])
def test_torchmetrics_agrees_on_many_classes(faces: int, classes: int, sharpness: float) -> None:
    torch = pytest.importorskip("torch")
    classification = pytest.importorskip("torchmetrics.classification")
    rows, labels = random_rows(faces, faces, classes, sharpness)
    # Dirichlet rows at 0.05 saturate; keep them off the extra bin that torchmetrics has for 1.
    rows = 0.999 * rows + 0.001 / classes
    confidence, correct = rows.max(axis=1), rows.argmax(axis=1) == labels
    for norm, metric in (("l1", ece), ("max", mce)):
        reference = classification.MulticlassCalibrationError(classes, n_bins=BINS, norm=norm)
        expected = reference(torch.tensor(rows), torch.tensor(labels))
        assert metric(confidence, correct) == pytest.approx(float(expected), abs=1e-6)
    binary = classification.BinaryCalibrationError(n_bins=BINS, norm="l1")
    for index, measured in enumerate(classwise_ece(rows, labels)):
        expected = binary(torch.tensor(rows[:, index]), torch.tensor((labels == index).astype(int)))
        assert measured == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("sharpness", [0.05, 0.3, 5.0])
def test_scikit_learn_agrees_on_nll_and_brier(sharpness: float) -> None:
    reference = pytest.importorskip("sklearn.metrics")
    rows, labels = random_rows(5, 500, 8, sharpness)
    # At 0.05 some rows hold exact zeros, some of them at the label.
    names = np.arange(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert nll(rows, labels) == pytest.approx(
            reference.log_loss(labels, rows, labels=names), abs=1e-6
        )
    assert brier(rows, labels) == pytest.approx(
        reference.brier_score_loss(labels, rows, labels=names), abs=1e-6
    )
    two_classes = np.column_stack((1 - rows[:, 0], rows[:, 0]))
    yes = (labels == 0).astype(int)
    # scikit-learn halves the sum for two classes.
    assert brier(two_classes, yes) / 2 == pytest.approx(
        reference.brier_score_loss(yes, rows[:, 0]), abs=1e-6
    )


def test_scikit_learn_agrees_on_the_reliability_diagram() -> None:
    calibration = pytest.importorskip("sklearn.calibration")
    generator = np.random.default_rng(8)
    confidence = generator.random(2000)
    correct = generator.random(2000) < confidence**2
    accuracies, means = calibration.calibration_curve(correct, confidence, n_bins=BINS)
    bins = [bin_ for bin_ in reliability(confidence, correct) if bin_.count]
    assert [bin_.accuracy for bin_ in bins] == pytest.approx(list(accuracies), abs=1e-6)
    assert [bin_.confidence for bin_ in bins] == pytest.approx(list(means), abs=1e-6)


def test_every_bar_but_the_highest_is_counted_by_whether_it_was_the_label() -> None:
    rows = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.6, 0.22, 0.18]])
    bins = other_bars(rows, [1, 0, 2], bins=10)
    counts = {round(bin_.low, 1): (bin_.count, bin_.accuracy) for bin_ in bins if bin_.count}
    assert counts == {0.1: (2, 0.5), 0.2: (3, pytest.approx(1 / 3)), 0.3: (1, 0.0)}
    assert sum(bin_.count for bin_ in bins) == 2 * len(rows)
    assert other_bars(np.ones((4, 1)), [0, 0, 0, 0]) == ()


@pytest.mark.parametrize("faces", [5, 200, 3000])
@pytest.mark.parametrize("sharpness", [0.6, 1.0, 1.8])
def test_smooth_ece_is_relplots(faces: int, sharpness: float) -> None:
    random = np.random.default_rng(faces)
    confidence = random.beta(5, 2, faces)
    odds = (confidence / (1 - confidence)) ** sharpness
    correct = random.random(faces) < odds / (1 + odds)
    expected = relplot.smECE(confidence, correct.astype(float))
    assert smooth_ece(confidence, correct) == pytest.approx(expected, abs=0.002)


def test_smooth_ece_of_an_overconfident_model_is_its_gap() -> None:
    confidence = np.full(1000, 0.9)
    assert smooth_ece(confidence, np.arange(1000) < 600) == pytest.approx(0.3, abs=0.02)
    assert smooth_ece([1.0], [1]) == pytest.approx(0, abs=1e-3)
