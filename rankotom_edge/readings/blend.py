"""Names a blend: two emotions in one face, such as "happily surprised"."""

from dataclasses import dataclass

from calib.arrays import FloatArray
from calib.blends import COMPOUNDS, PAIR_SHARE, ROUNDING
from calib.emotions import EMOTIONS

# A blend is named when both emotions together have four fifths, as in the votes that make a
# compound (calib.blends), and the second has a fifth, so that no third one is larger. The fifth was
# chosen by eye; tests/rankotom_edge/readings/test_blend.py measures how often the blends named are
# the compounds that people saw.
MIN_SECOND = 0.20
MIN_TOGETHER = PAIR_SHARE

# Hysteresis, so that a headline does not flicker at a threshold; chosen by eye.
KEEP_MARGIN = 0.04  # a blend is kept down to this much below the thresholds
SWAP_MARGIN = 0.05  # the second emotion becomes the first once it is this much larger

# The pairs that people saw in at least one of 200 faces (`python -m train.experiments.vote_pairs`).
# Happiness with sadness, anger, fear, disgust or contempt is not among them: a model that says so
# for a few frames is more likely on its way from one expression to another.
COMMON_PAIRS = frozenset(
    map(
        frozenset,
        (
            ("neutral", "sadness"),
            ("neutral", "happiness"),
            ("surprise", "fear"),
            ("neutral", "anger"),
            ("neutral", "surprise"),
            ("happiness", "surprise"),
            ("surprise", "anger"),
            ("neutral", "contempt"),
            ("sadness", "anger"),
            ("sadness", "fear"),
            ("anger", "disgust"),
        ),
    )
)

NEUTRAL = "neutral"
ADJECTIVES = {
    "happiness": "happy",
    "surprise": "surprised",
    "sadness": "sad",
    "anger": "angry",
    "disgust": "disgusted",
    "fear": "fearful",
    "contempt": "contemptuous",
}


@dataclass(frozen=True)
class Blend:
    """Two emotions in one face; the shares are their probabilities."""

    first: str
    second: str
    first_share: float
    second_share: float
    name: str  # "happily surprised", "slightly sad", or "neutral, with sadness"

    @property
    def emotions(self) -> frozenset[str]:
        return frozenset((self.first, self.second))

    @property
    def is_rare(self) -> bool:
        """Whether people hardly ever see these two together. Of other labels nothing is known."""
        return self.emotions <= set(EMOTIONS) and self.emotions not in COMMON_PAIRS


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
    return Blend(one, other, float(shares[first]), float(shares[second]), name_in_words(one, other))


def name_in_words(first: str, second: str) -> str:
    """The paper's name; "slightly sad" where neutral is the lesser; else the two in their order."""
    known = COMPOUNDS.get(frozenset((first, second)))
    if known is None and second == NEUTRAL and first in ADJECTIVES:
        known = f"slightly {ADJECTIVES[first]}"
    return known or f"{first}, with {second}"
