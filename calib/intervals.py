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


def time_share_interval(time: float, squares: float, rest: float, rest_squares: float) -> Interval:
    """The interval of the share time / (time + rest), both sums over independent episodes.

    ``squares`` are sums of the squared lengths. The share is a ratio of two sums, whose variance by
    linearisation is ((1 - p)^2 squares + p^2 rest_squares) / (time + rest)^2; that many equal
    episodes have Wilson's interval. Few episodes make that variance itself uncertain: Student's t,
    with Welch's degrees of freedom, takes the place of the normal quantile.
    """
    total = time + rest
    freedom = equal = total**2 / (squares + rest_squares)
    if time and rest:
        share = time / total
        first, second = (1 - share) ** 2 * squares, share**2 * rest_squares
        equal = total**2 * share * (1 - share) / (first + second)
        spread = first**2 * squares / time**2 + second**2 * rest_squares / rest**2
        freedom = (first + second) ** 2 / spread
    worth = equal * (Z / student_quantile(freedom)) ** 2
    return share_interval(worth * time / total, worth)


def student_quantile(freedom: float) -> float:
    """The 97.5 % quantile of Student's t, to three terms (Abramowitz and Stegun, 26.7.5): within
    1 % from 3 degrees of freedom on, and too small below 2."""
    first = (Z**3 + Z) / 4
    second = (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    third = (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384
    return Z + first / freedom + second / freedom**2 + third / freedom**3


def change_interval(lost: int, won: int, faces: int) -> Interval:
    """The interval of a paired change: (won - lost) / faces.

    Bonett and Price's adjusted Wald interval (2012) adds one face to each count: where no face
    changed, the share may still have moved by what that many faces cannot show.
    """
    gain, loss = (won + 1) / (faces + 2), (lost + 1) / (faces + 2)
    middle = gain - loss
    reach = Z * math.sqrt((gain + loss - middle**2) / (faces + 2))
    return Interval(max(-1.0, middle - reach), min(1.0, middle + reach))
