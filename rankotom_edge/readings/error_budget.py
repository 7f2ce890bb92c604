"""The error budget: the confidence below which a reading is called unsure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calib.blends import ROUNDING
from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.guarantees import CONFIDENCE, COVERAGES, guaranteed_threshold, mass_for, next_budget
from calib.metrics import Bin
from rankotom_edge.model.reliability import (
    has_enough,
    interpolate,
    knots_around,
    reliability_curve,
)
from rankotom_edge.readings.prediction_set import SetRule

COVERAGE = 0.9  # of a prediction set, without a budget for all readings


@dataclass(frozen=True)
class ErrorBudget:
    """``each``: at the lowest confidence that is called sure, at most this share may be wrong.
    ``overall``: of all that is called sure, at most this share is wrong, with 95 % confidence."""

    each: float = 0.5
    overall: float | None = None

    def confidence_needed(self, evaluation: Evaluation) -> float:
        bins = evaluation.reliability
        # Without a curve, a calibrated confidence is taken at its word.
        few = bool(bins) and not has_enough(bins)
        needed = 1 - self.each if few else confidence_needed(bins, self.each)
        if self.overall is None:
            return needed
        return guaranteed_confidence(evaluation, self.overall, at_least=needed)

    def set_rule(self, evaluation: Evaluation) -> SetRule | None:
        """None if the model's file has no prediction sets."""
        asked = COVERAGE if self.overall is None else 1 - self.overall
        coverage = min(max(asked, COVERAGES[0]), COVERAGES[-1])
        mass = mass_for(evaluation.set_masses, coverage)
        return None if mass is None else SetRule(mass, coverage)


def guaranteed_confidence(evaluation: Evaluation, max_error: float, at_least: float) -> float:
    if not evaluation.thresholds:
        raise RankotomError(
            "This model's file cannot guarantee an error rate: it was made by an earlier version, "
            "or quantized without labels. Export it again, with labels, or use --max-error-each."
        )
    threshold = guaranteed_threshold(evaluation.thresholds, max_error, at_least)
    if threshold is None:
        enough = next_budget(evaluation.thresholds, max_error)
        advice = "" if enough is None else f" Allow {100 * enough:.0f} %."
        raise RankotomError(
            f"An error rate of at most {100 * max_error:g} % cannot be promised with "
            f"{100 * CONFIDENCE:.0f} % confidence: the model is not right often enough even where "
            f"it is surest, or was measured on too few faces ({evaluation.n:,}).{advice}"
        )
    return threshold.confidence


def confidence_needed(bins: Sequence[Bin], max_error: float) -> float:
    """The lowest confidence at which at most ``max_error`` of the faces are read wrongly.

    The limit holds for the faces at that confidence, not on average with surer ones. It therefore
    holds for any mix of easy and hard faces in front of the camera.
    """
    if not 0 <= max_error <= 1:
        raise RankotomError(
            f"The error budget is {100 * max_error:g} %; it must lie between 0 % and 100 %."
        )
    if max_error == 1:
        return 0.0
    curve = reliability_curve(bins)
    accuracy = 1 - max_error - ROUNDING
    if curve[-1].accuracy < accuracy:
        lowest_error = math.ceil(1000 * (1 - curve[-1].accuracy)) / 10
        raise RankotomError(
            f"An error budget of {100 * max_error:g} % cannot be met: where this model is surest, "
            f"{lowest_error:g} % of the faces are still wrong. Allow at least that."
        )
    before, after = knots_around(curve, lambda knot: knot.accuracy >= accuracy)
    return interpolate(
        accuracy, before.accuracy, after.accuracy, before.confidence, after.confidence
    )
