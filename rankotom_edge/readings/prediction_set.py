"""Prediction sets: the few expressions of which one is right ("sadness or neutral, 90 %")."""

from typing import NamedTuple

from calib.arrays import FloatArray
from calib.guarantees import prediction_set


class SetRule(NamedTuple):
    """Of the likeliest expressions, until their bars add up to ``mass``, one is right with at least
    the probability ``coverage``, over all faces."""

    mass: float
    coverage: float

    def expressions(self, labels: tuple[str, ...], probabilities: FloatArray) -> tuple[str, ...]:
        """Likeliest first."""
        return tuple(labels[index] for index in prediction_set(probabilities, self.mass))


def set_words(expressions: tuple[str, ...], coverage: float) -> str | None:
    """None unless there are two: more do not fit into a panel, and the bars show them."""
    if len(expressions) != 2:
        return None
    return f"{' or '.join(expressions)}, {100 * coverage:.0f} %"
