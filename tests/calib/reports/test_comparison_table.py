"""The table has the metrics of both models, each with its own interval."""

from collections.abc import Callable

import pytest

from calib.drift import Drift, measure_drift
from calib.limits import Limits
from calib.predictions import Predictions
from calib.reports.comparison_table import UNRELIABLE, Row, comparison_rows
from calib.reports.number_text import interval_text


@pytest.fixture(scope="module")
def drift(make_predictions: Callable[..., Predictions]) -> Drift:
    return measure_drift(
        make_predictions(), make_predictions(temperature=0.7, noise=0.5), resamples=50
    )


def rows_of(drift: Drift, limits: Limits | None = None) -> dict[str, Row]:
    return {row.name: row for row in comparison_rows(drift, limits or Limits())}


def test_every_metric_that_both_models_have_has_a_row(drift: Drift) -> None:
    assert list(rows_of(drift)) == ["accuracy", "ECE", "AECE", "MCE", "MCE, 50+", "NLL", "flips"]


def test_each_model_has_its_own_interval(drift: Drift) -> None:
    row = rows_of(drift)["ECE"]
    assert row.before[1] == interval_text(drift.reference.metrics["ece"].interval, 2)
    assert row.after[1] == interval_text(drift.candidate.metrics["ece"].interval, 2)
    assert row.before[1] != row.after[1]


def test_mce_is_called_unreliable_instead_of_an_interval(drift: Drift) -> None:
    row = rows_of(drift)["MCE"]
    assert (row.before[1], row.after[1], row.change[1]) == (UNRELIABLE,) * 3


def test_mce_over_large_bins_has_no_row_where_no_bin_is_large(
    make_predictions: Callable[..., Predictions],
) -> None:
    few = make_predictions(faces=40)
    assert "MCE, 50+" not in rows_of(measure_drift(few, few, resamples=20))


def test_a_limit_has_the_sign_of_the_harm_and_a_mark(drift: Drift) -> None:
    rows = rows_of(drift, Limits(ece=0.0, accuracy=1.0, flips=0.0))
    assert rows["accuracy"].cells[-1].strip() == "−100 ✓"
    assert rows["ECE"].cells[-1].startswith("0 ✗")
    assert rows["flips"].cells[-1].strip() == "0 ✗"
    assert rows["NLL"].cells[-1] == ""
