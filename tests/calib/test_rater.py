import numpy as np
import pytest

from calib.arrays import FloatArray
from calib.errors import RankotomError
from calib.rater import (
    PAIR_AGREEMENT,
    VOTE_GIVEN_MAJORITY,
    label_information,
    log_likelihood,
    rater_agreement,
    vote_likelihoods,
    vote_matrix,
)
from calib.temperature import softmax

HAPPY, NEUTRAL = 1, 0


def votes(*labels: int) -> list[int]:
    return np.bincount(labels, minlength=8).tolist()


def test_each_row_of_the_matrix_is_a_distribution_and_its_label_the_likeliest_vote() -> None:
    matrix = vote_matrix(8)
    assert matrix.sum(axis=1) == pytest.approx(1)
    assert matrix.argmax(axis=1).tolist() == list(range(8))
    assert np.array(VOTE_GIVEN_MAJORITY).sum(axis=1) == pytest.approx(1, abs=0.002)


def test_the_seven_emotions_of_other_data_sets_are_the_first_seven_renormalised() -> None:
    assert vote_matrix(7).shape == (7, 7)
    assert vote_matrix(7).sum(axis=1) == pytest.approx(1)


def test_labels_that_are_not_the_emotions_are_refused() -> None:
    with pytest.raises(RankotomError, match="has 3 labels"):
        vote_matrix(3)


def test_the_likelihood_of_votes_is_the_sum_over_majorities_of_the_products() -> None:
    matrix = vote_matrix(8)
    shares = np.full(8, 0.1 / 7)
    shares[HAPPY] = 0.9
    # One vote for happiness and two for neutral, by hand.
    expected = sum(
        shares[label] * matrix[label, HAPPY] * matrix[label, NEUTRAL] ** 2 for label in range(8)
    )
    likelihoods = vote_likelihoods([votes(HAPPY, NEUTRAL, NEUTRAL)])
    factor = max(matrix[label, HAPPY] * matrix[label, NEUTRAL] ** 2 for label in range(8))
    found = np.exp(log_likelihood(shares[np.newaxis], likelihoods))[0] * factor
    assert found == pytest.approx(expected)


def test_no_vote_says_nothing() -> None:
    assert vote_likelihoods([votes()]).tolist() == [[1.0] * 8]


def test_many_votes_do_not_underflow() -> None:
    likelihoods = vote_likelihoods([[0, 100_000, 0, 0, 0, 0, 0, 0]])
    assert likelihoods.max() == 1
    assert np.isfinite(log_likelihood(np.eye(8)[[NEUTRAL]], likelihoods)).all()


def test_agreement_counts_the_pairs_of_each_face() -> None:
    shares = np.full((3, 8), 1 / 8)
    # Equal, different, and of three labels one pair of three is equal; one label is no pair.
    agreement = rater_agreement([votes(1, 1), votes(1, 0), votes(1, 1, 3)], shares)
    assert agreement.faces == 3
    assert agreement.observed == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert rater_agreement([votes(1)], shares[:1]).observed is None
    assert not rater_agreement([votes(1)], shares[:1]).too_low


def test_raters_who_guess_agree_too_seldom_and_copies_too_often() -> None:
    random = np.random.default_rng(0)
    shares = np.full((200, 8), 0.02)
    shares[np.arange(200), random.integers(0, 8, 200)] = 0.86
    guesses = [votes(*random.integers(0, 8, 2)) for _ in range(200)]
    copies = [votes(*[int(random.integers(0, 8))] * 2) for _ in range(200)]
    assert rater_agreement(guesses, shares).too_low
    assert rater_agreement(copies, shares).too_high


def test_annotators_like_those_of_ferplus_agree_as_usual() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 8, 300)
    matrix = vote_matrix(8)
    given = [votes(*random.choice(8, 2, p=matrix[label])) for label in truth]
    agreement = rater_agreement(given, np.eye(8)[truth])
    assert not agreement.too_low
    assert not agreement.too_high
    assert len(PAIR_AGREEMENT) == 8


def test_the_information_of_labels_is_the_variance_of_the_slope_by_simulation() -> None:
    random = np.random.default_rng(0)
    logits = np.array([[2.0, 0.5, -1, 0, 0.3, -2, -0.5, 0.1]])
    truth = random.choice(8, 20_000, p=softmax(logits)[0])
    matrix = vote_matrix(8)
    votes = np.stack([random.multinomial(2, matrix[each]) for each in truth])
    likelihoods = vote_likelihoods(votes)

    def gained(inverse: float) -> FloatArray:
        return log_likelihood(softmax(logits * inverse), likelihoods)

    slopes = (gained(1.001) - gained(0.999)) / 0.002
    assert label_information(logits)[0] == pytest.approx(slopes.var(), rel=0.05)
    assert slopes.mean() == pytest.approx(0, abs=0.02)


def test_a_face_of_which_the_model_is_certain_or_knows_nothing_tells_little() -> None:
    certain, nothing, doubtful = 30 * np.eye(8)[:1], np.zeros((1, 8)), 2.5 * np.eye(8)[:1]
    assert label_information(certain)[0] < 1e-6
    assert label_information(nothing)[0] < 1e-6
    assert label_information(doubtful)[0] > 0.05
