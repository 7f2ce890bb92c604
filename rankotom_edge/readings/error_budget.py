"""The error budget: the confidence below which a reading is called unsure."""

import math
from collections.abc import Sequence

from calib.blends import ROUNDING
from calib.errors import RankotomError
from calib.metrics import Bin
from rankotom_edge.model.reliability import interpolate, knots_around, reliability_curve


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
