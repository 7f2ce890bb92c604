from collections.abc import Callable
from typing import TypeAlias

import pytest

from calib.drift import measure_drift
from calib.predictions import Predictions
from calib.reports.model_notes import facts, model_facts

MakePredictions: TypeAlias = Callable[..., Predictions]


def test_what_is_not_known_of_the_models_is_left_out(make_predictions: MakePredictions) -> None:
    drift = measure_drift(make_predictions(), make_predictions(noise=0.3), resamples=10)
    assert model_facts(drift) == []
    assert [name for name, _ in facts(drift)] == ["emotion", "confidence"]


def test_what_is_known_is_told_with_its_units(make_predictions: MakePredictions) -> None:
    drift = measure_drift(
        make_predictions(),
        make_predictions(),
        reference_model={"bytes": 11_200_000},
        candidate_model={"bytes": 2_900_000, "layers_in_fp32": ["conv1", "layer1.0.conv1"]},
        reference_temperature=0.835,
        size_ratio=0.26,
        latency_ms=(5.0, 2.0),
        resamples=10,
    )
    assert dict(model_facts(drift)) == {
        "temperature": "0.835 → unknown",
        "size": "11.2 MB → 2.9 MB, 26 %",
        "latency": "5.0 ms → 2.0 ms a face, 2.5 times as fast",
        "in FP32": "conv1, layer1.0.conv1",
    }


@pytest.mark.parametrize(
    ("latency", "words"), [((2.0, 5.0), "2.5 times as slow"), ((3.0, 3.0), "1.0 times as fast")]
)
def test_slower_is_told_as_slower(
    latency: tuple[float, float], words: str, make_predictions: MakePredictions
) -> None:
    drift = measure_drift(make_predictions(), make_predictions(), latency_ms=latency, resamples=10)
    assert words in dict(model_facts(drift))["latency"]
