"""Two models' figures side by side, before and after, as the words of a table."""

from dataclasses import dataclass

from calib.drift import Drift, check_limits
from calib.limits import LimitCheck, Limits
from calib.reports.widgets import (
    NAMES,
    figure_text,
    percent,
    signed_span_text,
    signed_text,
    span_text,
)
from calib.resampling import ROUGH_INTERVALS

FIGURES = ("accuracy", "ece", "aece", "mce", "mce50", "nll")
# Only what holds the figure 95 times in 100 is called a 95 % interval.
UNFAIR = "no fair one"


@dataclass(frozen=True)
class Row:
    """``before``, ``after`` and ``change`` are a figure and its interval; flips only change."""

    name: str
    before: tuple[str, str]
    after: tuple[str, str]
    change: tuple[str, str]
    check: LimitCheck | None

    @property
    def cells(self) -> tuple[str, ...]:
        limit = "" if self.check is None else _limit(self.check)
        return (self.name, *self.before, *self.after, *self.change, limit)


def side_by_side(drift: Drift, limits: Limits) -> list[Row]:
    """A row for each figure that both models have, and last the flips."""
    checks = {check.name: check for check in check_limits(drift, limits)}
    rows = [_figure_row(drift, name, checks.get(name)) for name in FIGURES if name in drift.change]
    changed = (percent(drift.flips.rate), span_text(drift.intervals["flips"], 1))
    return [*rows, Row(NAMES["flips"][0], ("", ""), ("", ""), changed, checks["flips"])]


def _figure_row(drift: Drift, name: str, check: LimitCheck | None) -> Row:
    label, digits = NAMES[name]
    fair = name not in ROUGH_INTERVALS
    before, after = (
        (
            figure_text(evaluation.metrics[name].value, digits),
            span_text(evaluation.metrics[name].interval, digits) if fair else UNFAIR,
        )
        for evaluation in (drift.reference, drift.candidate)
    )
    span = signed_span_text(drift.intervals.get(name), digits) if fair else UNFAIR
    return Row(label, before, after, (signed_text(drift.change[name], digits), span), check)


def _limit(check: LimitCheck) -> str:
    """The limit, whether it was kept, and a question mark where chance might decide."""
    sign = "" if check.name == "flips" or not check.size else "+" if check.harm > 0 else "−"
    # The space is as wide as a digit: what matplotlib draws to the right stays in line.
    doubt = "?" if check.unsure else "\u2007"
    return f"{sign}{100 * check.size:.4g} {'✗' if check.failed else '✓'}{doubt}"
