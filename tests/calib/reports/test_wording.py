from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from calib.drift import Drift, judge, measure_drift
from calib.evaluation import evaluate
from calib.intervals import Interval
from calib.limits import Limits, Verdict
from calib.predictions import Predictions
from calib.reports.wording import (
    calibration_verdict,
    drift_headline,
    drift_notes,
    model_notes,
)
from calib.resampling import Floor

MakePredictions: TypeAlias = Callable[..., Predictions]


def test_a_calibrated_model_is_called_consistent_with_perfect_calibration(
    make_predictions: MakePredictions,
) -> None:
    evaluation = evaluate(make_predictions(2000), resamples=100)
    floor = evaluation.metrics["ece"].floor
    assert floor is not None
    consistent, words = calibration_verdict(evaluation)
    assert consistent
    assert words.startswith("Consistent with perfect calibration: ")
    assert words.endswith(
        f"shows more than {100 * floor.p95:.2f} % in only 1 of 20 samples of 2,000 faces."
    )


@pytest.mark.parametrize(
    ("temperature", "words"), [(0.5, "Too sure of itself"), (2.0, "Not sure enough")]
)
def test_the_verdict_on_a_miscalibrated_model_names_the_direction(
    make_predictions: MakePredictions, temperature: float, words: str
) -> None:
    evaluation = evaluate(make_predictions(2000, temperature=temperature), resamples=100)
    consistent, sentence = calibration_verdict(evaluation)
    assert not consistent
    assert sentence.startswith(words)
    assert "in only 1 of 20 samples" in sentence


def test_an_adaptive_error_beyond_chance_does_not_overrule_the_ece(
    make_predictions: MakePredictions,
) -> None:
    evaluation = evaluate(make_predictions(2000), resamples=100)
    beyond = replace(evaluation.metrics["aece"], floor=Floor(mean=0.0, p95=0.0))
    assert beyond.consistent is False
    assert calibration_verdict(
        replace(evaluation, metrics={**evaluation.metrics, "aece": beyond})
    ) == calibration_verdict(evaluation)


def drift_of(make_predictions: MakePredictions, **ece: float) -> Drift:
    """No change but of the ECE, and no doubt but of that."""
    same = make_predictions(50)
    nothing = measure_drift(same, same, resamples=10)
    sure = {name: Interval(0, 0) for name in nothing.intervals}
    interval = Interval(ece["low"], ece["high"])
    return replace(
        nothing,
        change={**nothing.change, "ece": ece["change"]},
        intervals={**sure, "ece": interval},
    )


@pytest.mark.parametrize(
    ("change", "low", "high", "headline"),
    [
        (0.001, 0.0, 0.002, "Yes: within every limit"),
        (0.001, -0.01, 0.01, "Yes: within every limit, but chance might decide ECE"),
        (0.009, 0.008, 0.01, "No: past the limit"),
        (0.009, 0.001, 0.02, "No: past the limit, but chance might decide ECE"),
    ],
)
def test_the_headline_does_not_hide_its_doubts(
    make_predictions: MakePredictions, change: float, low: float, high: float, headline: str
) -> None:
    drift = drift_of(make_predictions, change=change, low=low, high=high)
    assert drift_headline(drift, Limits(), judge(drift)) == headline


def test_a_no_that_one_limit_settles_has_no_doubts(make_predictions: MakePredictions) -> None:
    drift = drift_of(make_predictions, change=0.009, low=0.001, high=0.02)
    drift = replace(drift, change={**drift.change, "accuracy": -0.1})
    drift = replace(drift, intervals={**drift.intervals, "accuracy": Interval(-0.12, -0.08)})
    assert drift_headline(drift, Limits(), judge(drift)) == "No: past the limit"


def test_several_doubts_are_listed(make_predictions: MakePredictions) -> None:
    few = make_predictions(30)
    drift = measure_drift(few, few, resamples=10)
    headline = drift_headline(drift, Limits(), judge(drift))
    assert headline.endswith("chance might decide accuracy and flips")


def test_a_candidate_within_every_limit_may_still_not_be_worth_it(
    make_predictions: MakePredictions,
) -> None:
    drift = measure_drift(
        make_predictions(), make_predictions(), size_ratio=0.26, latency_ms=(2.0, 5.0), resamples=20
    )
    slower = Verdict(False, ("It is slower than its parent.",), ())
    assert drift_headline(drift, Limits(), slower).startswith("No: within every limit, and not")
    accepted = drift_headline(drift, Limits(), judge(drift))
    assert accepted.startswith("Yes: within every limit, 26 % of the size")
    assert "fast" not in accepted


def test_what_is_not_known_of_the_models_is_left_out(make_predictions: MakePredictions) -> None:
    drift = measure_drift(make_predictions(), make_predictions(noise=0.3), resamples=10)
    assert model_notes(drift) == []
    assert [name for name, _ in drift_notes(drift)] == ["emotion", "confidence"]


def test_what_is_known_has_its_units(make_predictions: MakePredictions) -> None:
    drift = measure_drift(
        make_predictions(),
        make_predictions(),
        models=(
            {"bytes": 11_200_000},
            {"bytes": 2_900_000, "layers_in_fp32": ["conv1", "layer1.0.conv1"]},
        ),
        temperatures=(0.835, None),
        size_ratio=0.26,
        latency_ms=(5.0, 2.0),
        resamples=10,
    )
    assert dict(model_notes(drift)) == {
        "temperature": "0.835 → unknown",
        "size": "11.2 MB → 2.9 MB, 26 %",
        "latency": "5.0 ms → 2.0 ms a face, 2.5 times as fast",
        "in FP32": "conv1, layer1.0.conv1",
    }


@pytest.mark.parametrize(
    ("latency", "words"), [((2.0, 5.0), "2.5 times as slow"), ((3.0, 3.0), "1.0 times as fast")]
)
def test_a_slower_candidate_is_called_slower(
    latency: tuple[float, float], words: str, make_predictions: MakePredictions
) -> None:
    drift = measure_drift(make_predictions(), make_predictions(), latency_ms=latency, resamples=10)
    assert words in dict(model_notes(drift))["latency"]
