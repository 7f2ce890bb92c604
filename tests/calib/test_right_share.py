import numpy as np
import pytest

from calib.rater import vote_likelihoods, vote_matrix
from calib.right_share import RightTerms, likeliest_share


def test_votes_that_are_the_truth_give_the_share_that_is_right() -> None:
    right = np.array([1.0, 1.0, 1.0, 0.0])
    share = likeliest_share(right, 1 - right, np.ones((1, 4)))
    assert share[0] == pytest.approx(0.75, abs=1e-5)


def test_weights_count_a_face_several_times() -> None:
    right = np.array([1.0, 0.0])
    share = likeliest_share(right, 1 - right, np.array([[3.0, 1.0], [0.0, 2.0]]))
    assert share == pytest.approx([0.75, 0.0], abs=1e-5)


def test_votes_that_say_nothing_leave_the_share_in_the_middle() -> None:
    assert likeliest_share(np.ones(3), np.ones(3), np.ones((1, 3)))[0] == pytest.approx(0.5)


def test_the_likelihoods_of_a_face_that_is_right_and_wrong_by_hand() -> None:
    shares = np.array([[0.6, 0.3, 0.1, 0, 0, 0, 0, 0]])
    likelihoods = np.array([[0.5, 1.0, 0.2, 0, 0, 0, 0, 0]])
    terms = RightTerms.of(shares, likelihoods)
    assert terms.right == pytest.approx([0.5])
    assert terms.wrong == pytest.approx([0.75 * 1.0 + 0.25 * 0.2])
    assert terms.confidence == pytest.approx([0.6])


def test_a_model_without_doubt_has_even_alternatives() -> None:
    terms = RightTerms.of(np.eye(8)[[2]], np.arange(8.0)[np.newaxis])
    assert terms.wrong == pytest.approx([(28 - 2) / 7])


def test_accuracy_is_that_of_the_truth_and_not_of_agreeing_with_one_rater() -> None:
    """Of 4,000 faces 80 % are read correctly; one rater's votes agree with fewer."""
    random = np.random.default_rng(0)
    predicted = random.integers(0, 8, 4000)
    shares = np.full((4000, 8), 0.2 / 7)
    shares[np.arange(4000), predicted] = 0.8
    truth = np.array([random.choice(8, p=row) for row in shares])
    labels = np.array([random.choice(8, p=vote_matrix(8)[label]) for label in truth])
    agrees = float(np.mean(labels == predicted))
    terms = RightTerms.of(shares, vote_likelihoods(np.eye(8)[labels]))
    share = float(terms.share(np.ones((1, 4000)))[0])
    assert agrees < 0.62
    assert share == pytest.approx(0.8, abs=0.03)
    assert float(terms.ece(np.ones((1, 4000)))[0]) < 0.03
    (interval,) = (each for each in terms.bins()[1] if each is not None)
    assert interval.low < 0.8 < interval.high


def test_the_bins_cover_all_faces_and_few_faces_have_a_wide_interval() -> None:
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.full(8, 0.5), 12)
    terms = RightTerms.of(shares, vote_likelihoods(np.eye(8)[shares.argmax(axis=1)]))
    bins, intervals = terms.bins()
    assert sum(bin_.count for bin_ in bins) == 12
    for bin_, interval in zip(bins, intervals, strict=True):
        assert (interval is None) == (bin_.count == 0)
        if interval is not None:
            assert bin_.accuracy is not None
            assert interval.low <= bin_.accuracy <= interval.high
            assert interval.width > 0.1


def test_faces_that_are_alike_widen_the_interval() -> None:
    shares = np.tile([0.7, 0.3, 0, 0, 0, 0, 0, 0], (30, 1))
    terms = RightTerms.of(shares, vote_likelihoods(np.eye(8)[[0] * 30]))
    (alone,) = (each for each in terms.bins()[1] if each is not None)
    (alike,) = (each for each in terms.bins(weight=0.2)[1] if each is not None)
    assert alike.width > 2 * alone.width


def test_the_floor_falls_with_the_number_of_labels() -> None:
    random = np.random.default_rng(2)
    shares = random.dirichlet(np.full(8, 0.4), 200)
    terms = RightTerms.of(shares, np.ones((200, 8)))
    one, five = (terms.floor(shares, np.full(200, votes), resamples=60, seed=0) for votes in (1, 5))
    assert 0 < five.mean < one.mean < one.p95 < 0.3
