"""Names a blend: two emotions in one face, such as "happily surprised"."""

from dataclasses import dataclass

from calib.arrays import FloatArray
from calib.blends import PAIR_SHARE, ROUNDING, blend_name

# A blend is named when both emotions together have four fifths, as in the votes that make a
# compound (calib.blends), and the second has a fifth, so that no third one is larger. The fifth was
# chosen by eye; tests/rankotom_edge/readings/test_blend.py measures how often the blends named are
# the compounds that people saw.
MIN_SECOND = 0.20
MIN_TOGETHER = PAIR_SHARE

# Hysteresis, so that a headline does not flicker at a threshold; chosen by eye.
KEEP_MARGIN = 0.04  # a blend is kept down to this much below the thresholds
SWAP_MARGIN = 0.05  # the second emotion becomes the first once it is this much larger


@dataclass(frozen=True)
class Blend:
    """Two emotions in one face; the shares are their probabilities."""

    first: str
    second: str
    first_share: float
    second_share: float
    name: str  # "happily surprised", or "neutral + sadness" where there is no name

    @property
    def emotions(self) -> frozenset[str]:
        return frozenset((self.first, self.second))


def find_blend(
    probabilities: FloatArray, labels: tuple[str, ...], before: Blend | None = None
) -> Blend | None:
    """``before`` is the blend of the same face in the frame before."""
    if len(labels) < 2:
        return None
    shares = probabilities.tolist()
    first, second = sorted(range(len(shares)), key=lambda index: -shares[index])[:2]
    margin = ROUNDING
    if before is not None and before.emotions == {labels[first], labels[second]}:
        margin += KEEP_MARGIN
        if labels[first] == before.second and shares[first] - shares[second] < SWAP_MARGIN:
            first, second = second, first
    smaller, together = min(shares[first], shares[second]), shares[first] + shares[second]
    if smaller < MIN_SECOND - margin or together < MIN_TOGETHER - margin:
        return None
    return make_blend(labels, probabilities, first, second)


def make_blend(labels: tuple[str, ...], shares: FloatArray, first: int, second: int) -> Blend:
    one, other = labels[first], labels[second]
    return Blend(one, other, float(shares[first]), float(shares[second]), blend_name(one, other))
