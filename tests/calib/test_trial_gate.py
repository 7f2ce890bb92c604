import math

import numpy as np
import pytest

from calib.intervals import Interval
from calib.own_calibration import OwnCalibration
from calib.rater import RaterAgreement, vote_likelihoods
from calib.trial_gate import (
    ONE_RATER,
    Evidence,
    independence,
    judge_trial,
    labels_to_go,
    measure_evidence,
)

BETTER, CLEAR = -0.1, Interval(-0.2, -0.01)
USUAL = RaterAgreement(50, 0.6, Interval(0.4, 0.8))


def evidence(
    gain: float = 10.0, low: float = 1.2, high: float = 1.9, likeliest: float | None = None
) -> Evidence:
    middle = likeliest or math.sqrt(low * high)
    return Evidence(gain, middle, Interval(low, high), 1.0)


def test_a_clear_gain_passes_without_a_doubt() -> None:
    verdict = judge_trial(evidence(), BETTER, CLEAR, USUAL, 60)
    assert verdict.passed
    assert verdict.reasons == verdict.unsure == ()


def test_too_little_evidence_names_the_temperatures_that_remain() -> None:
    verdict = judge_trial(evidence(1.0, 0.8, 1.7), BETTER, CLEAR, USUAL, 60)
    assert not verdict.passed
    assert "temperatures of 0.80 to 1.70" in verdict.reasons[0]


def test_too_few_groups_are_refused_however_clear_the_gain() -> None:
    assert not judge_trial(evidence(100.0), BETTER, CLEAR, USUAL, 29).passed


def test_a_loss_on_held_out_faces_beyond_chance_is_refused() -> None:
    verdict = judge_trial(evidence(), 0.1, Interval(0.01, 0.2), USUAL, 60)
    assert "faces that it was not fitted to" in verdict.reasons[0]


def test_a_gain_that_chance_might_decide_is_a_doubt() -> None:
    verdict = judge_trial(evidence(), BETTER, Interval(-0.2, 0.05), USUAL, 60)
    assert verdict.passed
    assert verdict.unsure == (
        "NLL on held-out faces −0.100, 95 % interval −0.200 to +0.050: chance might decide its "
        "sign.",
    )


def test_raters_who_disagree_are_a_reason_and_raters_who_agree_a_doubt() -> None:
    seldom = RaterAgreement(50, 0.2, Interval(0.4, 0.8))
    often = RaterAgreement(50, 0.95, Interval(0.4, 0.8))
    assert "agree on 20 %" in judge_trial(evidence(), BETTER, CLEAR, seldom, 60).reasons[0]
    verdict = judge_trial(evidence(), BETTER, CLEAR, often, 60)
    assert verdict.passed
    assert "agree on 95 %" in verdict.unsure[0]


def test_the_gain_is_twice_the_change_of_the_log_likelihood() -> None:
    logits = np.array([[2.0, 0, 0, 0, 0, 0, 0, 0]])
    votes = np.eye(8)[[3]]
    likelihoods = vote_likelihoods(votes)
    before = (OwnCalibration().apply(logits) * likelihoods).sum()
    after = (OwnCalibration(1.5).apply(logits) * likelihoods).sum()
    found = measure_evidence(logits, likelihoods, 0.5, OwnCalibration(1.5), 2.0)
    assert found.gain == pytest.approx(2 * 0.5 * math.log(after / before))


def test_one_rater_must_show_more_than_the_rater_model_may_be_wrong_by() -> None:
    logits = np.random.default_rng(0).normal(0, 2, (50, 8))
    likelihoods = vote_likelihoods(np.eye(8)[np.random.default_rng(1).integers(0, 8, 50)])
    fitted = OwnCalibration(ONE_RATER)
    assert measure_evidence(logits, likelihoods, 1.0, fitted, 1.0).gain == 0
    assert measure_evidence(logits, likelihoods, 1.0, fitted, 2.0).gain > 0


def test_copies_of_a_face_are_worth_one_face_and_unlike_faces_each_its_own() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 2, (400, 8))
    likelihoods = vote_likelihoods(np.eye(8)[random.integers(0, 8, 400)])
    apart = independence(logits, likelihoods, np.arange(400))
    copies = independence(
        np.repeat(logits, 4, axis=0),
        np.repeat(likelihoods, 4, axis=0),
        np.repeat(np.arange(400), 4),
    )
    assert apart == pytest.approx(1)
    assert copies == pytest.approx(0.25)
    assert independence(logits[:1], likelihoods[:1], np.zeros(1, np.int64)) == 1


def test_an_interval_twice_as_wide_as_the_distance_needs_four_times_the_labels() -> None:
    distance = math.log(1.5)
    wide = evidence(0.5, 1.5 * math.exp(-2 * distance), 1.5 * math.exp(2 * distance))
    assert labels_to_go(wide, 100, 100) == 300


def test_labels_to_go_reach_at_least_the_fewest_groups() -> None:
    assert labels_to_go(evidence(10.0, 1.4, 1.6), 20, 10) == 40


def test_a_temperature_that_is_clearly_near_1_needs_no_more_labels() -> None:
    assert labels_to_go(evidence(0.1, 0.95, 1.06), 500, 200) is None
    verdict = judge_trial(evidence(0.1, 0.95, 1.06), BETTER, CLEAR, USUAL, 200)
    assert "right as it is" in verdict.reasons[0]


def test_more_labels_are_not_asked_for_where_something_else_is_missing() -> None:
    assert labels_to_go(evidence(10.0, 1.2, 1.9), 100, 60) is None  # for example better raters
