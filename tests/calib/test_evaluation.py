import json
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from calib import metrics
from calib.evaluation import Figure, evaluate
from calib.predictions import Predictions
from calib.resampling import Floor

MakePredictions: TypeAlias = Callable[..., Predictions]

CONTRACT = {
    "n",
    "accuracy",
    "ece",
    "aece",
    "mce",
    "nll",
    "brier",
    "top2_match",
    "temperature",
    "intervals",
    "bins",
    "per_class",
    "model",
}


def as_strict_json(document: dict[str, object]) -> Any:
    """Through text and back; NaN and numpy scalars do not pass."""
    return json.loads(json.dumps(document, allow_nan=False))


def tiny() -> Predictions:
    rows = np.array([[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    return Predictions(rows, np.array([0, 1, 1]), ("calm", "glad", "sad"))


def test_the_figures_are_those_of_the_metrics(make_predictions: MakePredictions) -> None:
    predictions = make_predictions()
    figures = evaluate(predictions, resamples=50).figures
    confidence, correct = predictions.confidence, predictions.correct
    assert figures["ece"].value == metrics.ece(confidence, correct)
    assert figures["aece"].value == metrics.adaptive_ece(confidence, correct)
    assert figures["mce50"].value == metrics.mce(confidence, correct, least=50)
    assert figures["accuracy"].value == correct.mean()


def test_only_calibration_errors_have_a_floor_and_all_figures_an_interval(
    make_predictions: MakePredictions,
) -> None:
    figures = evaluate(make_predictions(), resamples=50).figures
    with_floor = {name for name, figure in figures.items() if figure.floor is not None}
    assert with_floor == {"ece", "aece", "mce", "mce50"}
    assert all(figure.interval is not None for figure in figures.values())


def test_a_calibrated_model_is_consistent_and_an_overconfident_one_is_not(
    make_predictions: MakePredictions,
) -> None:
    calibrated = evaluate(make_predictions(faces=2000), resamples=200)
    overconfident = evaluate(make_predictions(faces=2000, temperature=0.5), resamples=200)
    assert calibrated.figures["ece"].consistent is True
    assert overconfident.figures["ece"].consistent is False
    assert calibrated.figures["accuracy"].consistent is None


def test_a_value_that_equals_its_floor_but_for_rounding_is_consistent() -> None:
    assert Figure(0.1 + 0.2, None, Floor(mean=0.1, p95=0.3)).consistent is True


def test_each_class_tells_what_is_claimed_and_what_is_true() -> None:
    calm, glad, sad = evaluate(tiny(), resamples=10).per_class
    assert (calm.name, calm.count, calm.accuracy) == ("calm", 1, 1.0)
    assert (calm.predicted, calm.precision) == (2, 0.5)
    assert calm.confidence == pytest.approx(0.7)
    assert (glad.count, glad.accuracy, glad.precision) == (2, 0.5, 1.0)
    assert (sad.count, sad.accuracy, sad.confidence, sad.precision) == (0, None, None, None)
    assert sad.ece == pytest.approx(0.1)


def test_the_confusion_has_labels_in_rows() -> None:
    assert evaluate(tiny(), resamples=10).confusion.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_the_json_holds_the_contract_and_plain_values(make_predictions: MakePredictions) -> None:
    evaluation = evaluate(
        make_predictions(), temperature=0.6, model={"name": "ferplus-int8"}, resamples=50
    )
    document = as_strict_json(evaluation.as_json())
    assert document.keys() >= CONTRACT
    assert document["n"] == 400
    assert document["temperature"] == 0.6
    assert document["model"] == {"name": "ferplus-int8"}
    assert document["ece"] == evaluation.figures["ece"].value
    low, high = document["intervals"]["ece"]
    assert low < document["ece"] < high
    assert document["floor"]["ece"].keys() == {"mean", "p95"}
    assert document["rough_intervals"] == ["mce"]
    assert document["consistent"].keys() == {"ece", "aece", "mce", "mce50"}
    assert len(document["bins"]) == 15
    assert document["bins"][0].keys() == {"low", "high", "count", "confidence", "accuracy"}
    assert sum(bin_["count"] for bin_ in document["bins"]) == 400
    assert document["per_class"]["happiness"].keys() >= {"count", "accuracy", "confidence", "ece"}
    assert np.sum(document["confusion"]) == 400
    assert 0 < document["vote_distance"] < 1
    assert document["classwise_ece"] == pytest.approx(
        np.mean([figures["ece"] for figures in document["per_class"].values()])
    )


def test_what_does_not_apply_is_null_in_the_json() -> None:
    document = as_strict_json(evaluate(tiny(), resamples=10).as_json())
    for field in ("top2_match", "temperature", "mce50", "vote_distance"):
        assert document[field] is None
    assert document["intervals"]["top2_match"] is None
    assert document["floor"]["mce50"] is None
    assert document["consistent"]["mce50"] is None
    assert document["per_class"]["sad"]["accuracy"] is None
    assert document["bins"][0]["confidence"] is None
    assert document["model"] == {}


@pytest.mark.parametrize(
    "predictions",
    [
        Predictions(np.array([[0.9, 0.1]]), np.array([1])),
        Predictions(np.ones((3, 1)), np.zeros(3, dtype=int), votes=np.ones((3, 1))),
        Predictions(np.full((60, 8), 0.125), np.arange(60) % 8, votes=np.zeros((60, 8))),
    ],
    ids=["one sample", "one class", "all tied, no votes cast"],
)
def test_the_smallest_inputs_are_evaluated(predictions: Predictions) -> None:
    document = as_strict_json(evaluate(predictions, resamples=20).as_json())
    assert document["n"] == len(predictions)
    assert document["top2_match"] is None
    low, high = document["intervals"]["ece"]
    assert low <= document["ece"] <= high


def test_the_order_of_the_faces_changes_no_figure(make_predictions: MakePredictions) -> None:
    whole = make_predictions()
    shuffled = np.random.default_rng(1).permutation(len(whole))
    assert whole.votes is not None
    again = Predictions(
        whole.probabilities[shuffled], whole.labels[shuffled], votes=whole.votes[shuffled]
    )
    first, second = evaluate(whole, resamples=10), evaluate(again, resamples=10)
    for name, figure in first.figures.items():
        assert second.figures[name].value == pytest.approx(figure.value, abs=1e-12)
    assert np.array_equal(first.confusion, second.confusion)
