import copy
import json
from typing import Any

import numpy as np
import pytest

from calib.label_trial import LabelTrial
from calib.metrics import Bin
from calib.try_calibration import try_calibration


@pytest.fixture(scope="module")
def trial() -> LabelTrial:
    random = np.random.default_rng(0)
    logits = random.normal(0, 4, (40, 8))
    votes = [
        random.multinomial(2, np.full(8, 0.05) + 0.6 * row) for row in np.eye(8)[:5].repeat(8, 0)
    ]
    return try_calibration(logits, np.stack(votes), np.arange(40) // 2, resamples=20)


@pytest.fixture
def saved(trial: LabelTrial) -> Any:
    return json.loads(json.dumps(trial.as_json(), allow_nan=False))


def test_json_gives_the_same_trial_back(trial: LabelTrial, saved: Any) -> None:
    assert LabelTrial.from_json(saved) == trial


def test_the_bins_are_those_of_a_reliability_table(trial: LabelTrial) -> None:
    assert all(isinstance(bin_, Bin) for bin_ in trial.after.bins)
    assert sum(bin_.count for bin_ in trial.after.bins) == trial.faces


def test_one_group_has_no_interval_and_is_read_back(trial: LabelTrial) -> None:
    alone = try_calibration(np.zeros((1, 8)), np.eye(8)[:1], [0], resamples=5)
    assert LabelTrial.from_json(json.loads(json.dumps(alone.as_json()))) == alone


@pytest.mark.parametrize(
    "name",
    [
        "calibration",
        "verdict",
        "before",
        "after",
        "change",
        "intervals",
        "evidence",
        "raters",
        "faces",
    ],
)
@pytest.mark.parametrize("value", [None, 7.5, "x", [], [1], {}, True])
def test_a_field_that_is_not_what_it_should_be_is_a_value_error(
    saved: Any, name: str, value: object
) -> None:
    if (name, value) in (("intervals", {}), ("faces", True)):  # one group; Python's True is 1
        return
    damaged = copy.deepcopy(saved)
    damaged[name] = value
    with pytest.raises(ValueError, match=r"."):
        LabelTrial.from_json(damaged)


@pytest.mark.parametrize(
    "path",
    [
        ("after", "ece"),
        ("after", "accuracy"),
        ("after", "confidence"),
        ("after", "bins", 4, "accuracy"),
        ("after", "bins", 4, "confidence"),
        ("after", "bins", 4, "high"),
        ("evidence", "weight"),
        ("evidence", "likeliest"),
        ("evidence", "temperature"),
        ("change", "ece"),
        ("labels_to_go",),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -3.0, "1", [2, 1]])
def test_a_number_that_cannot_be_is_a_value_error(
    saved: Any, path: tuple[str | int, ...], value: object
) -> None:
    if path == ("change", "ece") and value == -3.0:
        return
    damaged = copy.deepcopy(saved)
    place = damaged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=r"."):
        LabelTrial.from_json(damaged)


def test_a_missing_field_is_named(saved: Any) -> None:
    del saved["after"]["bins"]
    with pytest.raises(ValueError, match="bins is missing"):
        LabelTrial.from_json(saved)


def test_a_million_bins_are_refused(saved: Any) -> None:
    saved["after"]["bins"] *= 200_000
    with pytest.raises(ValueError, match="1,000,000 bins"):
        LabelTrial.from_json(saved)
