"""How much worse a candidate model may be, and how a measured change compares with that."""

import math
from dataclasses import dataclass

from calib.intervals import Interval

# Equal except for float rounding is equal: a change on its limit is within it.
ROUNDING = 1e-9
# Beyond this many faces, or ten times those at hand, "more faces" is no advice. Chosen by eye.
MOST_FACES = 1_000_000
SUBJECTS = {"ece": "ECE", "aece": "AECE", "accuracy": "Accuracy", "flips": "Flips"}


@dataclass(frozen=True)
class Limits:
    """The largest allowed rise of ECE and AECE, fall of accuracy, and flip rate.

    The defaults are chosen by eye; each has an option on the command line.
    """

    ece: float = 0.005
    aece: float = 0.005
    accuracy: float = 0.005
    flips: float = 0.02


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class LimitCheck:
    """A change and the size of its limit; ``limit`` has the sign of a harmful change."""

    name: str
    change: float
    interval: Interval
    size: float

    @property
    def harm(self) -> int:
        """The sign of a harmful change: a fall of accuracy, a rise of the others."""
        return -1 if self.name == "accuracy" else 1

    @property
    def limit(self) -> float:
        return self.harm * self.size

    @property
    def failed(self) -> bool:
        return self.harm * self.change > self.size + ROUNDING

    @property
    def unsure(self) -> bool:
        return self.interval.spans(self.limit)

    def reason(self) -> str:
        """Why it failed, in a sentence."""
        measured = f"{100 * abs(self.change):.{self._digits(self.change)}f}"
        limit = f"{100 * self.size:.4g}"
        if self.name == "flips":
            return (
                f"The predicted emotion changed on {measured} % of the faces; "
                f"the limit is {limit} %."
            )
        verb = "rose" if self.change > 0 else "fell"
        return f"{SUBJECTS[self.name]} {verb} by {measured} points; the limit is {limit}."

    def doubt(self, faces: int) -> str:
        """Why the answer is not certain, and how many faces would make it so."""
        unit = "%" if self.name == "flips" else "points"
        number = "1 face is" if faces == 1 else f"{faces:,} faces are"
        return (
            f"{SUBJECTS[self.name]} {self._text(self.change)} {unit}, 95 % interval "
            f"{self._text(self.interval.low)} to {self._text(self.interval.high)}, limit "
            f"{self._text(self.limit)}: {number} too few to be sure; {self._advice(faces)}."
        )

    def _advice(self, faces: int) -> str:
        """An interval shrinks with the root of n; it must shrink to the distance to the limit."""
        distance = abs(self.change - self.limit)
        towards = self.interval.high if self.change < self.limit else self.interval.low
        reach = abs(towards - self.change)
        if distance <= reach * math.sqrt(faces / max(MOST_FACES, 10 * faces)):
            return "it is too close to the limit for more to settle it"
        needed = faces * (reach / distance) ** 2
        step = 10 ** max(0, math.floor(math.log10(needed)) - 1)
        return f"about {math.ceil(needed / step - ROUNDING) * step:,} would settle it"

    def _text(self, fraction: float) -> str:
        """In points with a sign; a rate has none."""
        number = f"{100 * fraction:+.{self._digits(fraction)}f}".replace("-", "−")
        return number.removeprefix("+") if self.name == "flips" or not fraction else number

    def _digits(self, fraction: float) -> int:
        """One decimal, or as many (up to four) as distinguish it from the limit."""
        if fraction == self.limit:
            return max(1, len(f"{100 * self.size:.4g}".partition(".")[2]))
        digits = 1
        while digits < 4 and round(100 * fraction, digits) == round(100 * self.limit, digits):
            digits += 1
        return digits


@dataclass(frozen=True)
class Verdict:
    """``reasons``: a sentence for each limit exceeded. ``unsure``: one for each that chance might
    decide, because it lies inside the interval."""

    passed: bool
    reasons: tuple[str, ...]
    unsure: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return {"passed": self.passed, "reasons": list(self.reasons), "unsure": list(self.unsure)}
