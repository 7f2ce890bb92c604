"""A blend is named where two emotions are seen, as people saw them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib.blends import compound_faces, pair_matches, vote_shares
from calib.emotions import EMOTIONS
from calib.prediction_files import read_predictions
from rankotom_edge.readings.blend import KEEP_MARGIN, Blend, find_blend

HELD_OUT = Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz"


def shares(**named: float) -> np.ndarray:
    """The named emotions; what is left to 1 is spread over the others."""
    rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
    return np.array([named.get(name, rest) for name in EMOTIONS])


@pytest.mark.parametrize(
    ("probabilities", "name"),
    [
        (shares(happiness=0.52, surprise=0.31), "happily surprised"),
        (shares(surprise=0.52, happiness=0.31), "happily surprised"),
        (shares(neutral=0.6, sadness=0.2), "neutral, with sadness"),
        (shares(sadness=0.7, neutral=0.2), "slightly sad"),
        (shares(anger=0.5, happiness=0.4), "anger, with happiness"),
        (shares(happiness=0.85, surprise=0.14), None),
        (shares(happiness=0.99), None),
        (shares(fear=0.4, surprise=0.3), None),
    ],
)
def test_a_blend_is_named_when_the_second_emotion_is_a_real_part(
    probabilities: np.ndarray, name: str | None
) -> None:
    blend = find_blend(probabilities, EMOTIONS)
    assert (blend.name if blend else None) == name


def test_a_blend_names_its_larger_part_first() -> None:
    blend = find_blend(shares(surprise=0.52, happiness=0.31), EMOTIONS)
    assert blend is not None
    assert (blend.first, blend.second) == ("surprise", "happiness")
    assert (blend.first_share, blend.second_share) == pytest.approx((0.52, 0.31))


@pytest.mark.parametrize(
    ("first", "second", "rare"),
    [
        ("happiness", "sadness", True),
        ("anger", "happiness", True),
        ("sadness", "neutral", False),
        ("fear", "surprise", False),
        ("calm", "happiness", False),  # of another model: nothing is known
    ],
)
def test_two_that_people_hardly_ever_see_together_are_rare(
    first: str, second: str, rare: bool
) -> None:
    assert Blend(first, second, 0.5, 0.4, "").is_rare == rare


def test_a_model_of_one_emotion_has_no_blends() -> None:
    assert find_blend(np.ones(1), ("smile",)) is None


def test_blends_are_named_where_people_saw_two_emotions() -> None:
    """On the half of FERPlus valid that the rule was not chosen on."""
    held_out = read_predictions(HELD_OUT)
    assert held_out.votes is not None
    compounds = compound_faces(held_out.votes)
    matched = pair_matches(held_out.probabilities, compounds)
    named = np.array(
        [find_blend(row, held_out.classes) is not None for row in held_out.probabilities]
    )
    precision, always = matched[named].mean(), matched.mean()
    recall = matched[named].sum() / compounds.mask.sum()
    assert precision > 1.6 * always
    assert recall > 0.3
    # Not much oftener than people split their votes.
    assert named.mean() < 1.6 * compounds.mask.mean()
    # Most of what is named, several people saw: each of the two has two votes in ten.
    order = np.argsort(-held_out.probabilities, axis=1)[:, :2]
    votes = np.take_along_axis(vote_shares(held_out.votes), order, axis=1)
    assert (votes[named].min(axis=1) >= 0.2 - 1e-9).mean() > 0.45


def test_a_blend_is_kept_a_little_longer_than_it_takes_to_name_it() -> None:
    named = find_blend(shares(happiness=0.65, surprise=0.2), EMOTIONS)
    fading = shares(happiness=0.65, surprise=0.2 - KEEP_MARGIN + 0.01)
    assert find_blend(fading, EMOTIONS) is None
    assert find_blend(fading, EMOTIONS, named) is not None
