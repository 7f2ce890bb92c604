"""Which faces count as having two expressions."""

import numpy as np

from calib.emotions import EMOTIONS
from train.experiments.vote_pairs import count_pairs


def test_a_pair_counts_in_either_order_where_both_have_votes_enough() -> None:
    votes = np.zeros((4, len(EMOTIONS)))
    for row, (first, second) in enumerate([(6, 4), (2, 8), (9, 1), (4, 3)]):
        votes[row, EMOTIONS.index("happiness")] = first
        votes[row, EMOTIONS.index("sadness")] = second
    votes[3, EMOTIONS.index("anger")] = 3  # the two have less than four fifths together
    assert count_pairs(votes, EMOTIONS) == {frozenset({"happiness", "sadness"}): 2}
