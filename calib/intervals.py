"""The 95 % intervals of shares, which hold on few faces and where nothing was seen."""

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


def share_interval(hits: int, faces: int) -> Interval:
    """Wilson's score interval: none of 30 faces is 0 to 11 %, not 0 to 0."""
    share, pull = hits / faces, Z**2 / faces
    middle = (share + pull / 2) / (1 + pull)
    reach = Z * math.sqrt(share * (1 - share) / faces + pull / (4 * faces)) / (1 + pull)
    return Interval(min(share, max(0.0, middle - reach)), max(share, min(1.0, middle + reach)))


def change_interval(lost: int, won: int, faces: int) -> Interval:
    """Of ``won - lost`` as a share of the same faces, some of which changed either way.

    Bonett and Price's adjusted Wald interval (2012) counts one more of each: where no face
    changed, the share may still have moved by as much as that many faces can hide.
    """
    gain, loss = (won + 1) / (faces + 2), (lost + 1) / (faces + 2)
    middle = gain - loss
    reach = Z * math.sqrt((gain + loss - middle**2) / (faces + 2))
    return Interval(max(-1.0, middle - reach), min(1.0, middle + reach))
