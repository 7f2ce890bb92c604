import math

import numpy as np
import pytest

from calib.blends import (
    COMPOUNDS,
    blend_name,
    compound_faces,
    compound_heatmap,
    top2_match,
    vote_distance,
)
from calib.emotions import EMOTIONS
from calib.errors import RankotomError

PAPER = (
    "happily surprised, happily disgusted, sadly fearful, sadly angry, sadly surprised, "
    "sadly disgusted, fearfully angry, fearfully surprised, angrily surprised, "
    "angrily disgusted, disgustedly surprised"
)
THREE = ("happiness", "surprise", "neutral")


def test_the_eleven_names_are_the_papers_in_its_order() -> None:
    assert ", ".join(COMPOUNDS.values()) == PAPER
    assert all(len(pair) == 2 and pair <= set(EMOTIONS) for pair in COMPOUNDS)


def test_each_name_is_made_of_its_two_emotions() -> None:
    for pair, name in COMPOUNDS.items():
        for emotion in pair:
            stem = {"anger": "angr"}.get(emotion, emotion[:3])
            assert stem in name


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("happiness", "surprise", "happily surprised"),
        ("surprise", "happiness", "happily surprised"),
        ("neutral", "sadness", "neutral + sadness"),
        ("sadness", "neutral", "sadness + neutral"),
        ("fear", "disgust", "fear + disgust"),
    ],
)
def test_a_pair_without_a_name_is_called_by_its_two_words(
    first: str, second: str, name: str
) -> None:
    assert blend_name(first, second) == name


def test_one_class_cannot_be_a_blend() -> None:
    with pytest.raises(RankotomError, match="at least two classes"):
        compound_faces([[10]])


@pytest.mark.parametrize(
    ("votes", "compound"),
    [
        ([5, 5, 0], True),
        ([7, 3, 0], True),
        ([8, 2, 0], False),
        ([5, 3, 2], True),
        ([4, 3, 3], False),
        ([0.7, 0.1 + 0.2, 0.0], True),
        ([10, 0, 0], False),
        ([0, 0, 0], False),
    ],
)
def test_a_compound_is_a_face_whose_votes_split_between_two_emotions(
    votes: list[float], compound: bool
) -> None:
    assert compound_faces([votes]).mask.tolist() == [compound]


def test_the_pair_of_a_compound_is_the_more_voted_first() -> None:
    assert compound_faces([[3, 0, 7], [0, 5, 5]]).pairs.tolist() == [[2, 0], [1, 2]]


def test_top2_match_is_the_share_of_compounds_whose_two_emotions_are_found() -> None:
    votes = [[5, 5, 0], [5, 5, 0], [0, 4, 6], [10, 0, 0]]
    rows = [[0.4, 0.5, 0.1], [0.6, 0.1, 0.3], [0.1, 0.4, 0.5], [0.1, 0.1, 0.8]]
    assert top2_match(rows, votes) == pytest.approx(2 / 3)


def test_top2_match_is_nothing_where_no_face_is_a_compound() -> None:
    assert top2_match([[0.5, 0.5]], [[10, 0]]) is None


def test_vote_distance_is_the_confidence_that_would_have_to_move() -> None:
    measured = vote_distance([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0]], [[5, 4, 1], [1, 1, 0]])
    assert measured == pytest.approx((0.2 + 0) / 2)


def test_vote_distance_is_one_for_opposite_certainties() -> None:
    assert vote_distance([[1.0, 0.0]], [[0, 10]]) == 1


def test_faces_without_votes_have_no_vote_distance() -> None:
    assert vote_distance([[1.0, 0.0], [0.5, 0.5]], [[0, 0], [5, 5]]) == 0
    assert math.isnan(vote_distance([[1.0, 0.0]], [[0, 0]]))


def test_the_heatmap_has_a_row_per_compound_with_the_mean_of_its_faces() -> None:
    votes = [[5, 5, 0], [6, 0, 4], [4, 6, 0], [10, 0, 0]]
    rows = [[0.4, 0.5, 0.1], [0.6, 0.1, 0.3], [0.6, 0.1, 0.3], [0.9, 0.1, 0.0]]
    heatmap = compound_heatmap(rows, votes, THREE)
    assert heatmap.rows == ("happily surprised", "happiness + neutral")
    assert heatmap.columns == THREE
    assert heatmap.counts == (2, 1)
    assert heatmap.constituents == ((0, 1), (0, 2))
    assert heatmap.confidence == pytest.approx(np.array([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3]]))
    assert heatmap.matches == (0.5, 1.0)


def test_a_heatmap_without_compounds_has_no_rows() -> None:
    heatmap = compound_heatmap([[0.5, 0.5]], [[10, 0]], ["happiness", "surprise"])
    assert heatmap.rows == ()
    assert heatmap.confidence.shape == (0, 2)


def test_votes_of_another_shape_are_refused() -> None:
    with pytest.raises(RankotomError, match="votes have shape"):
        top2_match([[0.5, 0.5]], [[5, 5, 0]])


def test_of_equal_votes_the_earlier_class_comes_first() -> None:
    assert compound_faces([[5, 0, 5]]).pairs.tolist() == [[0, 2]]


def test_the_json_of_a_heatmap_has_a_record_for_each_compound() -> None:
    heatmap = compound_heatmap([[0.4, 0.5, 0.1], [0.4, 0.1, 0.5]], [[5, 5, 0], [6, 4, 0]], THREE)
    assert heatmap.as_json() == [
        {
            "name": "happily surprised",
            "emotions": ["happiness", "surprise"],
            "count": 2,
            "match": 0.5,
            "confidence": pytest.approx({"happiness": 0.4, "surprise": 0.3, "neutral": 0.3}),
        }
    ]
