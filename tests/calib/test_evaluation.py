import json
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

from calib import metrics
from calib.evaluation import Estimate, Evaluation, evaluate
from calib.intervals import Interval
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


def test_the_values_are_those_of_the_metrics(make_predictions: MakePredictions) -> None:
    predictions = make_predictions()
    estimates = evaluate(predictions, resamples=50).metrics
    confidence, correct = predictions.confidence, predictions.correct
    assert estimates["ece"].value == metrics.ece(confidence, correct)
    assert estimates["aece"].value == metrics.adaptive_ece(confidence, correct)
    assert estimates["mce50"].value == metrics.mce(confidence, correct, least=50)
    assert estimates["accuracy"].value == correct.mean()


def test_only_calibration_errors_have_a_floor_and_all_but_the_smooth_one_an_interval(
    make_predictions: MakePredictions,
) -> None:
    estimates = evaluate(make_predictions(), resamples=50).metrics
    with_floor = {name for name, estimate in estimates.items() if estimate.floor is not None}
    assert with_floor == {"ece", "aece", "mce", "mce50"}
    assert [name for name, each in estimates.items() if each.interval is None] == ["smooth_ece"]


def test_a_calibrated_model_is_consistent_and_an_overconfident_one_is_not(
    make_predictions: MakePredictions,
) -> None:
    calibrated = evaluate(make_predictions(faces=2000), resamples=200)
    overconfident = evaluate(make_predictions(faces=2000, temperature=0.5), resamples=200)
    assert calibrated.metrics["ece"].consistent is True
    assert overconfident.metrics["ece"].consistent is False
    assert calibrated.metrics["accuracy"].consistent is None


def test_a_value_that_equals_its_floor_but_for_rounding_is_consistent() -> None:
    assert Estimate(0.1 + 0.2, None, Floor(mean=0.1, p95=0.3)).consistent is True


def test_each_class_has_its_confidence_and_its_precision() -> None:
    calm, glad, sad = evaluate(tiny(), resamples=10).per_class
    assert (calm.name, calm.count, calm.accuracy) == ("calm", 1, 1.0)
    assert (calm.predicted, calm.precision) == (2, 0.5)
    assert calm.confidence == pytest.approx(0.7)
    assert (glad.count, glad.accuracy, glad.precision) == (2, 0.5, 1.0)
    assert (sad.count, sad.accuracy, sad.confidence, sad.precision) == (0, None, None, None)
    assert sad.ece == pytest.approx(0.1)


def test_the_confusion_has_labels_in_rows() -> None:
    assert evaluate(tiny(), resamples=10).confusion == ((1, 0, 0), (1, 1, 0), (0, 0, 0))


def test_the_json_holds_the_contract_and_plain_values(make_predictions: MakePredictions) -> None:
    evaluation = evaluate(
        make_predictions(), temperature=0.6, model={"name": "ferplus-int8"}, resamples=50
    )
    document = as_strict_json(evaluation.as_json())
    assert document.keys() >= CONTRACT
    assert document["n"] == 400
    assert document["temperature"] == 0.6
    assert document["model"] == {"name": "ferplus-int8"}
    assert document["ece"] == evaluation.metrics["ece"].value
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
        np.mean([emotion["ece"] for emotion in document["per_class"].values()])
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


def test_the_order_of_the_faces_changes_no_metric(make_predictions: MakePredictions) -> None:
    whole = make_predictions()
    shuffled = np.random.default_rng(1).permutation(len(whole))
    assert whole.votes is not None
    again = Predictions(
        whole.probabilities[shuffled], whole.labels[shuffled], votes=whole.votes[shuffled]
    )
    first, second = evaluate(whole, resamples=10), evaluate(again, resamples=10)
    for name, estimate in first.metrics.items():
        assert second.metrics[name].value == pytest.approx(estimate.value, abs=1e-12)
    assert first.confusion == second.confusion


def test_an_evaluation_is_read_back_from_its_json(make_predictions: MakePredictions) -> None:
    for predictions in (make_predictions(), tiny()):
        evaluation = evaluate(
            predictions, temperature=0.6, model={"name": "ferplus-int8"}, resamples=20
        )
        again = Evaluation.from_json(as_strict_json(evaluation.as_json()))
        assert again == evaluation
        assert again.as_json() == evaluation.as_json()


def test_an_artifact_keeps_the_classes_in_order_though_its_keys_are_sorted() -> None:
    evaluation = evaluate(
        Predictions(np.array([[0.8, 0.2]]), np.array([0]), ("sad", "glad")), resamples=10
    )
    text = json.dumps(evaluation.as_json(), sort_keys=True)
    assert [each.name for each in Evaluation.from_json(json.loads(text)).per_class] == [
        "sad",
        "glad",
    ]


SHARES = dict.fromkeys(("accuracy", "ece", "aece", "mce"), 0.25)
SMALLEST: dict[str, Any] = {"n": 20, **SHARES, "intervals": {name: [0.2, 0.3] for name in SHARES}}


def test_an_old_file_with_the_shares_alone_is_read() -> None:
    evaluation = Evaluation.from_json(SMALLEST)
    assert (evaluation.n, evaluation.metrics["ece"].value) == (20, 0.25)
    assert evaluation.metrics["ece"].interval == Interval(0.2, 0.3)
    assert evaluation.metrics["nll"] == Estimate(None)
    assert (evaluation.reliability, evaluation.other_bars, evaluation.per_class) == ((), (), ())
    assert Evaluation.from_json(evaluation.as_json()) == evaluation


@pytest.mark.parametrize("missing", ["n", "accuracy", "mce", "intervals"])
def test_a_missing_field_is_named(missing: str) -> None:
    with pytest.raises(KeyError, match=missing):
        Evaluation.from_json({name: each for name, each in SMALLEST.items() if name != missing})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"nll": "low"}, "nll is 'low', not a number"),
        ({"brier": float("nan")}, "brier is nan"),
        ({"brier": 10**400}, "brier is 1000"),
        ({"n": -1}, "n is -1, not a count"),
        ({"accuracy": 2}, "accuracy is not a share"),
        ({"intervals": {**SMALLEST["intervals"], "ece": None}}, "ece is not a share"),
        ({"intervals": {**SMALLEST["intervals"], "ece": [0.3, 0.2]}}, "ends before it starts"),
        ({"intervals": {**SMALLEST["intervals"], "ece": [0.3]}}, "shorter"),
        ({"intervals": [0, 1]}, "not a JSON object"),
        ({"bins": {}}, "not a list"),
        ({"bins": [7]}, "7 is not a JSON object"),
        ({"floor": {"ece": {"mean": 0.1, "p95": "high"}}}, "p95 is 'high'"),
        ({"confusion": [["many"]]}, "many"),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_refused(
    damage: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluation.from_json({**SMALLEST, **damage})


@pytest.mark.parametrize(
    "damage",
    [
        {"floor": {"ece": {"p59": 0.1}}},
        {"bins": [{"low": 0, "high": 1, "count": 20, "confidence": 0.5}]},
        {"per_class": {"calm": {"count": 20}}},
        {"classes": ["calm"], "per_class": {"glad": {}}},
    ],
)
def test_an_entry_without_one_of_its_fields_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(KeyError):
        Evaluation.from_json({**SMALLEST, **damage})
