"""The few expressions of which one is right: "sadness or neutral, 90 %"."""

from typing import NamedTuple

from calib.arrays import FloatArray
from calib.guarantees import prediction_set

MOST_NAMED = 3  # with more, a set says too little to read it


class SetRule(NamedTuple):
    """Of the likeliest expressions, until their bars add up to ``mass``, one is right with at least
    the probability ``coverage``, over all faces."""

    mass: float
    coverage: float

    def expressions(self, labels: tuple[str, ...], probabilities: FloatArray) -> tuple[str, ...]:
        """Likeliest first."""
        return tuple(labels[index] for index in prediction_set(probabilities, self.mass))


def set_words(expressions: tuple[str, ...], coverage: float) -> str | None:
    """None for a single expression, or for too many."""
    if not 1 < len(expressions) <= MOST_NAMED:
        return None
    *others, last = expressions
    return f"{', '.join(others)} or {last}, {100 * coverage:.0f} %"
