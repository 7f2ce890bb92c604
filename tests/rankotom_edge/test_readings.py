"""What is said of a face, and when it is better to say that one is unsure."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from calib.blends import compound_faces, pair_matches, vote_shares
from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.metrics import reliability
from calib.predictions import Predictions, read_predictions
from calib.shares import share_interval
from rankotom_edge.artifact import embedded_models, read_artifact
from rankotom_edge.faces import Face
from rankotom_edge.quality import Quality
from rankotom_edge.readings import (
    Reading,
    confidence_needed,
    find_blend,
    read_expression,
    reliability_at,
    shown_as,
    unsure_because,
)
from rankotom_edge.tracking import TrackedFace

HELD_OUT = Path(__file__).parents[2] / "docs" / "examples" / "fp32.npz"

FACE = Face(
    (10.123, 20.456, 100.0, 110.0), (40.111, 50.0), (80.0, 51.0), (60.0, 70.0), (60.0, 95.0), 0.912
)
GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
POOR = Quality(score=0.05, size=0.9, sharpness=0.05, light=1.0, pose=1.0, whole=1.0)


def shares(**named: float) -> np.ndarray:
    """The named emotions; what is left to 1 is spread over the others."""
    rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
    return np.array([named.get(name, rest) for name in EMOTIONS])


def reading(
    probabilities: np.ndarray, raw: np.ndarray | None = None, needed: float = 0.5
) -> Reading:
    return read_expression(
        TrackedFace(7, FACE, detected=True),
        labels=EMOTIONS,
        raw=probabilities if raw is None else raw,
        probabilities=probabilities,
        quality=GOOD,
        needed=needed,
    )


def bins_of(predictions: Predictions, rows: slice = slice(None)) -> list[dict[str, float | None]]:
    table = reliability(predictions.confidence[rows], predictions.correct[rows])
    return [vars(bin_) for bin_ in table]


def calibrated_bins(
    accuracies: dict[float, float] | None = None, count: int = 100
) -> list[dict[str, float]]:
    """Fifteen bins, right as often as they say but for the given ones, named by their middles."""
    middles = (np.arange(15) + 0.5) / 15
    return [
        {
            "low": middle - 0.5 / 15,
            "high": middle + 0.5 / 15,
            "count": count,
            "confidence": middle,
            "accuracy": (accuracies or {}).get(round(middle, 2), middle),
        }
        for middle in middles.tolist()
    ]


@pytest.fixture(scope="module")
def held_out() -> Predictions:
    return read_predictions(HELD_OUT)


@pytest.mark.parametrize(
    ("probabilities", "name"),
    [
        (shares(happiness=0.52, surprise=0.31), "happily surprised"),
        (shares(surprise=0.52, happiness=0.31), "happily surprised"),
        (shares(neutral=0.6, sadness=0.2), "neutral + sadness"),
        (shares(sadness=0.7, neutral=0.2), "sadness + neutral"),
        (shares(happiness=0.85, surprise=0.14), None),
        (shares(happiness=0.99), None),
        (shares(fear=0.4, surprise=0.3), None),
    ],
)
def test_a_blend_is_named_when_the_second_emotion_is_a_real_part(
    probabilities: np.ndarray, name: str | None
) -> None:
    blend = find_blend(probabilities, EMOTIONS)
    assert (blend.name if blend else None) == name


def test_a_blend_tells_its_parts_the_larger_first() -> None:
    blend = find_blend(shares(surprise=0.52, happiness=0.31), EMOTIONS)
    assert blend is not None
    assert (blend.first, blend.second) == ("surprise", "happiness")
    assert (blend.first_share, blend.second_share) == pytest.approx((0.52, 0.31))


def test_a_model_of_one_emotion_has_no_blends() -> None:
    assert find_blend(np.ones(1), ("smile",)) is None


def test_blends_are_named_where_people_saw_two_emotions(held_out: Predictions) -> None:
    """On the half of FERPlus valid that the rule's criterion does not use."""
    assert held_out.votes is not None
    compounds = compound_faces(held_out.votes)
    matched = pair_matches(held_out.probabilities, compounds)
    named = np.array(
        [find_blend(row, held_out.classes) is not None for row in held_out.probabilities]
    )
    precision, always = matched[named].mean(), matched.mean()
    recall = matched[named].sum() / compounds.mask.sum()
    assert precision > 1.6 * always
    assert recall > 0.3
    # Not much oftener than people split their votes.
    assert named.mean() < 1.6 * compounds.mask.mean()
    # Most of what is named, several people saw: each of the two has two votes in ten.
    order = np.argsort(-held_out.probabilities, axis=1)[:, :2]
    votes = np.take_along_axis(vote_shares(held_out.votes), order, axis=1)
    assert (votes[named].min(axis=1) >= 0.2 - 1e-9).mean() > 0.45


def test_a_confidence_under_the_one_needed_is_unsure_and_says_both() -> None:
    unsure = reading(shares(sadness=0.43), needed=0.6)
    assert (unsure.verdict, unsure.reason) == ("unsure", "only 43 % sure; 60 % is needed")
    assert unsure.top == "sadness"
    sure = reading(shares(sadness=0.6), needed=0.6)
    assert (sure.verdict, sure.reason) == ("sure", None)


def test_the_two_numbers_of_a_reason_are_never_the_same() -> None:
    assert unsure_because(0.5985, GOOD, 0.599) == "only 59 % sure; 60 % is needed"


def test_a_poor_crop_is_the_reason_even_of_a_low_confidence() -> None:
    assert POOR.reason
    assert unsure_because(0.99, POOR, 0.5) == POOR.reason
    assert unsure_because(0.30, POOR, 0.5) == POOR.reason


@pytest.mark.parametrize("max_error", [0.5, 0.3, 0.2, 0.1, 0.05])
def test_a_calibrated_model_needs_what_the_budget_leaves(max_error: float) -> None:
    assert confidence_needed(calibrated_bins(), max_error) == pytest.approx(1 - max_error, abs=1e-6)


def test_an_overconfident_model_needs_more() -> None:
    bins = calibrated_bins()
    for bin_ in bins:
        bin_["accuracy"] -= 0.1
    assert confidence_needed(bins, 0.2) == pytest.approx(0.9)


def test_the_budget_is_kept_at_each_confidence_and_not_on_average_over_surer_faces() -> None:
    """However many easy faces there are, those at 60 % are wrong two times in five."""
    bins = calibrated_bins()
    bins[-1]["count"] = 100_000
    assert confidence_needed(bins, 0.2) == pytest.approx(0.8, abs=1e-6)


def test_a_few_lucky_faces_promise_nothing() -> None:
    bins = calibrated_bins()
    lucky = dict(bins[-1], count=2, accuracy=1.0)
    with pytest.raises(RankotomError, match="cannot be met"):
        confidence_needed([*bins[:-1], lucky], 0.01)


def test_a_dip_in_the_table_is_evened_out_as_isotonic_regression_does() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    random = np.random.default_rng(0)
    bins = calibrated_bins()
    for bin_ in bins:
        bin_["count"] = int(random.integers(50, 500))
        bin_["accuracy"] = float(np.clip(bin_["confidence"] + random.normal(0, 0.1), 0, 1))
    fitted = isotonic.IsotonicRegression().fit_transform(
        [bin_["confidence"] for bin_ in bins],
        [bin_["accuracy"] for bin_ in bins],
        sample_weight=[bin_["count"] for bin_ in bins],
    )
    ours = [reliability_at(bins, bin_["confidence"]) for bin_ in bins]
    np.testing.assert_allclose(ours, fitted)


def test_reliability_never_falls_and_is_unknown_under_all_that_was_measured(
    held_out: Predictions,
) -> None:
    bins = bins_of(held_out)
    lowest = next(bin_["low"] for bin_ in bins if bin_["count"])
    known = [reliability_at(bins, confidence) for confidence in np.linspace(lowest, 1, 200)]
    assert reliability_at(bins, lowest - 0.001) is None
    assert known == sorted(known)
    assert reliability_at(bins, 1.0000001) == known[-1]


@pytest.mark.parametrize("max_error", [0.5, 0.35, 0.2, 0.1])
def test_what_is_needed_is_the_lowest_confidence_that_is_reliable_enough(
    held_out: Predictions, max_error: float
) -> None:
    bins = bins_of(held_out)
    needed = confidence_needed(bins, max_error)
    below, at = reliability_at(bins, needed - 0.01), reliability_at(bins, needed)
    assert at == pytest.approx(1 - max_error, abs=1e-6)
    assert below is not None
    assert below < 1 - max_error


@pytest.mark.parametrize("max_error", [0.5, 0.2, 0.1])
def test_other_faces_at_the_confidence_needed_keep_the_budget(
    held_out: Predictions, max_error: float
) -> None:
    needed = confidence_needed(bins_of(held_out, slice(0, None, 2)), max_error)
    confidence, correct = held_out.confidence[1::2], held_out.correct[1::2]
    enough = np.flatnonzero(confidence >= needed)
    just = enough[np.argsort(confidence[enough])[:60]]  # the least sure of them
    wrong = share_interval(int(np.count_nonzero(~correct[just])), len(just))
    assert wrong.low <= max_error
    assert wrong.high < max_error + 0.2


def test_a_whole_budget_makes_nothing_unsure() -> None:
    assert confidence_needed(calibrated_bins(), 1.0) == 0


def test_a_budget_that_cannot_be_met_says_what_can() -> None:
    bins = calibrated_bins({0.97: 0.9512})
    with pytest.raises(RankotomError, match=r"1 % cannot be met.* 4\.9 % of the faces are still"):
        confidence_needed(bins, 0.01)
    assert confidence_needed(bins, 0.049) <= 1


@pytest.mark.parametrize("max_error", [-0.1, 1.5, 20, float("nan")])
def test_a_budget_beyond_0_to_100_per_cent_is_refused(max_error: float) -> None:
    with pytest.raises(RankotomError, match="between 0 % and 100 %"):
        confidence_needed(calibrated_bins(), max_error)


def test_a_model_without_a_reliability_table_says_so() -> None:
    empty = [{"low": 0.0, "high": 1.0, "count": 0, "confidence": None, "accuracy": None}]
    for bins in ([], empty):
        with pytest.raises(RankotomError, match="no reliability table"):
            confidence_needed(bins, 0.2)


@pytest.mark.parametrize("name", embedded_models())
def test_the_embedded_models_can_keep_a_budget_of_half_and_of_a_tenth(name: str) -> None:
    bins = read_artifact(embedded_models()[name]).card.figures["bins"]
    assert 0.3 < confidence_needed(bins, 0.5) < confidence_needed(bins, 0.1) < 0.97


def test_b_tells_the_same_face_from_its_own_frame_alone() -> None:
    smoothed, raw = shares(happiness=0.9), shares(happiness=0.45, surprise=0.4)
    told = reading(smoothed, raw=raw, needed=0.6)
    assert (told.top, told.blend, told.verdict) == ("happiness", None, "sure")
    assert shown_as(told, smoothed=True) is told
    alone = shown_as(told, smoothed=False)
    assert alone.confidence == pytest.approx(0.45)
    assert alone.blend is not None
    assert alone.reason == "only 45 % sure; 60 % is needed"


def test_a_face_as_json_has_the_fields_of_the_design() -> None:
    saved = json.loads(json.dumps(reading(shares(happiness=0.52, surprise=0.31)).as_json()))
    assert saved["track"] == 7
    assert saved["box"] == [10.1, 20.5, 100.0, 110.0]
    assert list(saved["probabilities"]) == list(saved["raw"]) == list(EMOTIONS)
    assert saved["probabilities"]["happiness"] == saved["confidence"] == 0.52
    assert (saved["top"], saved["blend"]) == ("happiness", ["happiness", "surprise"])
    assert saved["blend_name"] == "happily surprised"
    assert (saved["verdict"], saved["reason"], saved["quality"]) == ("sure", None, 0.9)
    plain = reading(shares(happiness=0.3)).as_json()
    assert plain["blend"] is plain["blend_name"] is None
    assert plain["verdict"] == "unsure"


def test_a_face_read_back_from_json_says_the_same() -> None:
    told = reading(shares(happiness=0.52, surprise=0.31), raw=shares(fear=0.4), needed=0.6)
    saved = told.as_json()
    again = Reading.from_json(json.loads(json.dumps(saved)))
    assert again.as_json() == saved
    assert again.face.left_eye == pytest.approx(FACE.left_eye, abs=0.01)
    assert shown_as(again, smoothed=False).top == "fear"


def test_a_face_as_json_is_cheap() -> None:
    told = reading(shares(happiness=0.52, surprise=0.31))
    started = time.thread_time()
    for _ in range(300):
        told.as_json()
    assert (time.thread_time() - started) / 300 < 0.001
