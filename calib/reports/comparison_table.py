"""The metrics of two models side by side, as the text of a table."""

from dataclasses import dataclass

from calib.drift import Drift, check_limits
from calib.limits import LimitCheck, Limits
from calib.reports.number_text import (
    NAMES,
    interval_text,
    percent,
    signed_interval,
    signed_text,
    value_text,
)
from calib.resampling import ROUGH_INTERVALS

SHOWN_METRICS = ("accuracy", "ece", "aece", "mce", "mce50", "nll")
# In place of an interval that covers the metric less than 95 times in 100.
UNRELIABLE = "unreliable"


@dataclass(frozen=True)
class Row:
    """``before``, ``after`` and ``change``: a value and its interval. Flips have only a change."""

    name: str
    before: tuple[str, str]
    after: tuple[str, str]
    change: tuple[str, str]
    check: LimitCheck | None

    @property
    def cells(self) -> tuple[str, ...]:
        limit = "" if self.check is None else _limit(self.check)
        return (self.name, *self.before, *self.after, *self.change, limit)


def comparison_rows(drift: Drift, limits: Limits) -> list[Row]:
    """A row for each metric that both models have; the last row has the flips."""
    checks = {check.name: check for check in check_limits(drift, limits)}
    rows = [
        _metric_row(drift, name, checks.get(name)) for name in SHOWN_METRICS if name in drift.change
    ]
    changed = (percent(drift.flips.rate), interval_text(drift.intervals["flips"], 1))
    return [*rows, Row(NAMES["flips"][0], ("", ""), ("", ""), changed, checks["flips"])]


def _metric_row(drift: Drift, name: str, check: LimitCheck | None) -> Row:
    label, digits = NAMES[name]
    reliable = name not in ROUGH_INTERVALS
    before, after = (
        (
            value_text(evaluation.metrics[name].value, digits),
            interval_text(evaluation.metrics[name].interval, digits) if reliable else UNRELIABLE,
        )
        for evaluation in (drift.reference, drift.candidate)
    )
    interval = signed_interval(drift.intervals.get(name), digits) if reliable else UNRELIABLE
    return Row(label, before, after, (signed_text(drift.change[name], digits), interval), check)


def _limit(check: LimitCheck) -> str:
    """The limit, whether it is kept, and a question mark where chance might decide."""
    sign = "" if check.name == "flips" or not check.size else "+" if check.harm > 0 else "−"
    # A space as wide as a digit, so that right-aligned text stays in line.
    doubt = "?" if check.unsure else "\u2007"
    return f"{sign}{100 * check.size:.4g} {'✗' if check.failed else '✓'}{doubt}"
