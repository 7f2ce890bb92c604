"""95 % intervals, and how to get them for shares: valid for few faces and for a share of 0 or 1."""

import math
from dataclasses import dataclass

# The normal quantile of 97.5 %.
Z = 1.959964


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def spans(self, value: float) -> bool:
        return self.low < value < self.high


def share_interval(hits: float, faces: float) -> Interval:
    """Wilson's score interval of a proportion: for 0 of 30 faces 0 to 11 %, not 0 to 0. Faces of
    unequal weight count as fewer, so ``faces`` may be a fraction."""
    share, pull = hits / faces, Z**2 / faces
    middle = (share + pull / 2) / (1 + pull)
    reach = Z * math.sqrt(share * (1 - share) / faces + pull / (4 * faces)) / (1 + pull)
    return Interval(min(share, max(0.0, middle - reach)), max(share, min(1.0, middle + reach)))


def change_interval(lost: int, won: int, faces: int) -> Interval:
    """The interval of a paired change: (won - lost) / faces.

    Bonett and Price's adjusted Wald interval (2012) adds one face to each count: where no face
    changed, the share may still have moved by what that many faces cannot show.
    """
    gain, loss = (won + 1) / (faces + 2), (lost + 1) / (faces + 2)
    middle = gain - loss
    reach = Z * math.sqrt((gain + loss - middle**2) / (faces + 2))
    return Interval(max(-1.0, middle - reach), min(1.0, middle + reach))
