"""How often a model is right, from votes that are themselves often wrong.

A face whose predicted label is m is right with probability a. Then the majority's label is m;
otherwise it is another one, in the model's own proportions. So the face's votes have the likelihood

    a u + (1 - a) w,    u = P(votes | m),    w = sum_{k != m} p_k / (1 - p_m) P(votes | k)

whose logarithm is concave in a: the share of right faces is where the sum's slope is 0. It is the
share that are right by what most people would say, and not the share that agree with one rater.
"""

from dataclasses import dataclass, replace

import numpy as np

from calib.arrays import FloatArray, IntArray
from calib.intervals import Interval
from calib.metrics import Bin, bin_of
from calib.rater import vote_matrix
from calib.resampling import Floor

BINS = 5  # with a hundred faces and two labels each, 10 have a floor of 16 %; chosen by eye
HALVINGS = 20  # to a millionth
CHI_SQUARE = 3.8415  # twice the fall of the log-likelihood at the ends of a 95 % interval


@dataclass(frozen=True, eq=False)
class RightTerms:
    """u and w (n,), or of each resample (resamples, n), and the confidence (n,)."""

    right: FloatArray
    wrong: FloatArray
    confidence: FloatArray

    @classmethod
    def of(cls, probabilities: FloatArray, likelihoods: FloatArray) -> "RightTerms":
        best = probabilities.argmax(axis=1)[:, np.newaxis]
        confidence = np.take_along_axis(probabilities, best, axis=1)[:, 0]
        right = np.take_along_axis(likelihoods, best, axis=1)[:, 0]
        others = probabilities.copy()
        np.put_along_axis(others, best, 0.0, axis=1)
        rest = others.sum(axis=1)
        # A face without any doubt has no proportions: its other labels are equally likely.
        even = (likelihoods.sum(axis=1) - right) / (likelihoods.shape[1] - 1)
        wrong = np.divide((others * likelihoods).sum(axis=1), rest, out=even, where=rest > 0)
        return cls(right, wrong, np.minimum(confidence, 1.0))

    def share(self, weights: FloatArray) -> FloatArray:
        """The likeliest share of right faces for each row of weights (rows, n)."""
        return likeliest_share(self.right, self.wrong, weights)

    def bins(self, weight: float = 1.0) -> tuple[tuple[Bin, ...], tuple[Interval | None, ...]]:
        """The reliability diagram, and the interval of each bin's share: where the likelihood, each
        face counted as ``weight`` faces, is at least 15 % of the largest."""
        index = bin_of(self.confidence, BINS)
        bins: list[Bin] = []
        intervals: list[Interval | None] = []
        for number in range(BINS):
            inside = np.flatnonzero(index == number)
            low, high = number / BINS, (number + 1) / BINS
            if not inside.size:
                bins.append(Bin(low, high, 0, None, None))
                intervals.append(None)
                continue
            right, wrong = self.right[inside], self.wrong[inside]
            share = float(likeliest_share(right, wrong, np.ones((1, len(inside))))[0])
            mean = float(self.confidence[inside].mean())
            bins.append(Bin(low, high, len(inside), mean, share))
            intervals.append(_share_interval(right, wrong, share, weight))
        return tuple(bins), tuple(intervals)

    def ece(self, weights: FloatArray) -> FloatArray:
        """Expected calibration error for each row of weights (rows, n)."""
        index = bin_of(self.confidence, BINS)
        total = np.zeros(len(weights))
        for number in np.unique(index):
            inside = index == number
            some = weights[:, inside]
            share = likeliest_share(self.right[..., inside], self.wrong[..., inside], some)
            total += np.abs(share * some.sum(axis=1) - some @ self.confidence[inside])
        errors: FloatArray = total / weights.sum(axis=1)
        return errors

    def floor(self, probabilities: FloatArray, votes: IntArray, resamples: int, seed: int) -> Floor:
        """The ECE that a perfectly calibrated model would show with as many votes of each face:
        majority labels and then votes are drawn from what it says."""
        random = np.random.default_rng(seed)
        matrix = vote_matrix(probabilities.shape[1])
        rows = np.broadcast_to(probabilities, (resamples, *probabilities.shape))
        truth = _draw(rows, random)
        logs = np.zeros(rows.shape)
        for vote in range(int(votes.max(initial=0))):
            given = np.broadcast_to(votes > vote, truth.shape)
            logs[given] += np.log(matrix[:, _draw(matrix[truth[given]], random)].T)
        likelihoods = np.exp(logs).reshape(-1, probabilities.shape[1])
        drawn = RightTerms.of(rows.reshape(likelihoods.shape), likelihoods)
        terms = replace(
            drawn,
            right=drawn.right.reshape(truth.shape),
            wrong=drawn.wrong.reshape(truth.shape),
            confidence=self.confidence,
        )
        errors = terms.ece(np.ones(truth.shape))
        return Floor(float(errors.mean()), float(np.quantile(errors, 0.95)))


def likeliest_share(right: FloatArray, wrong: FloatArray, weights: FloatArray) -> FloatArray:
    """The maximum of sum_i weight_i log(a u_i + (1 - a) w_i) over a, for each row of weights, by
    halving: the slope only falls. Where it is 0 everywhere (the votes say nothing), 1/2."""
    low, high = np.zeros(len(weights)), np.ones(len(weights))
    difference = right - wrong
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        mixed = wrong + middle[:, np.newaxis] * difference
        slope = (weights * difference / np.maximum(mixed, np.finfo(np.float64).tiny)).sum(axis=1)
        low, high = np.where(slope > 0, middle, low), np.where(slope < 0, middle, high)
    found: FloatArray = (low + high) / 2
    return found


def _share_interval(right: FloatArray, wrong: FloatArray, share: float, weight: float) -> Interval:
    def below_best(tried: float) -> float:
        mixed = [wrong + each * (right - wrong) for each in (share, tried)]
        best, other = (np.log(np.maximum(each, np.finfo(np.float64).tiny)).sum() for each in mixed)
        return float(2 * weight * (best - other))

    def end(outside: float) -> float:
        if below_best(outside) <= CHI_SQUARE:
            return outside
        inside = share
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            if below_best(middle) <= CHI_SQUARE:
                inside = middle
            else:
                outside = middle
        return inside

    return Interval(end(0.0), end(1.0))


def _draw(rows: FloatArray, random: np.random.Generator) -> IntArray:
    """A class for each row of probabilities."""
    ends = np.cumsum(rows, axis=-1)
    above = random.random((*rows.shape[:-1], 1)) * ends[..., -1:] < ends
    drawn: IntArray = above.argmax(axis=-1).astype(np.int64)
    return drawn
