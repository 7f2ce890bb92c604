"""What one person's label is worth: a vote, which often differs from what most people would say.

A single vote of FERPlus agrees with the majority of ten on 77 % of the faces. A model fitted to
single votes as if they were the truth is told to be unsure of faces that it reads well. So a vote v
is modelled as drawn from the majority's label k with probability C[k, v], each vote independently:

    P(votes | p) = sum_k p_k prod_v C[k, v]^votes_v
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import FloatArray, as_probabilities, as_votes
from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.intervals import Interval, Z
from calib.temperature import softmax

# Rows: the majority's label, columns: one annotator's vote, in the order of EMOTIONS. Measured on
# FERPlus train: `python -m train.experiments.own_calibration --raters`.
VOTE_GIVEN_MAJORITY = (
    (0.736, 0.035, 0.023, 0.125, 0.035, 0.012, 0.008, 0.026),
    (0.044, 0.907, 0.026, 0.007, 0.007, 0.003, 0.003, 0.004),
    (0.064, 0.038, 0.748, 0.017, 0.026, 0.005, 0.098, 0.003),
    (0.172, 0.016, 0.014, 0.709, 0.033, 0.018, 0.023, 0.015),
    (0.084, 0.031, 0.065, 0.042, 0.690, 0.043, 0.030, 0.014),
    (0.116, 0.022, 0.028, 0.109, 0.127, 0.524, 0.019, 0.056),
    (0.058, 0.016, 0.170, 0.083, 0.040, 0.017, 0.609, 0.007),
    (0.162, 0.026, 0.016, 0.068, 0.051, 0.064, 0.011, 0.601),
)
# How often two annotators of a face agree, by the majority's label; from the same command. More
# often than by independent votes, because some faces are easy for everybody.
PAIR_AGREEMENT = (0.597, 0.846, 0.607, 0.557, 0.517, 0.321, 0.421, 0.408)


def vote_matrix(classes: int) -> FloatArray:
    """P(vote | majority) over the first ``classes`` emotions."""
    if classes not in (len(EMOTIONS), len(EMOTIONS) - 1):
        raise RankotomError(
            f"The rater model knows the {len(EMOTIONS)} emotions of FERPlus, or the first seven; "
            f"this model has {classes} labels, so votes for them cannot be weighed."
        )
    matrix = np.array(VOTE_GIVEN_MAJORITY)[:classes, :classes]
    rows: FloatArray = matrix / matrix.sum(axis=1, keepdims=True)
    return rows


def vote_likelihoods(votes: ArrayLike) -> FloatArray:
    """prod_v C[k, v]^votes_v for each face and majority label k (n, k); the largest of a row is 1.

    A row's common factor is left out: it does not depend on the model.
    """
    counts = as_votes(votes, *np.shape(votes))
    logs = counts @ np.log(vote_matrix(counts.shape[1])).T
    likelihoods: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    return likelihoods


def log_likelihood(probabilities: FloatArray, likelihoods: FloatArray) -> FloatArray:
    """log P(votes | p) of each face, but for a constant; at least the float64 epsilon inside."""
    mixed = (probabilities * likelihoods).sum(axis=-1)
    logs: FloatArray = np.log(np.maximum(mixed, np.finfo(np.float64).eps))
    return logs


def label_information(logits: FloatArray) -> FloatArray:
    """What two labels of each face are expected to tell of the temperature (n,): the variance of
    the slope of their log-likelihood in log(1 / temperature), where the model is right as it is.

    A face that the model is certain of tells little, and so does one that it knows nothing of.
    """
    matrix = vote_matrix(logits.shape[1])
    pairs = (matrix[:, :, np.newaxis] * matrix[:, np.newaxis, :]).reshape(len(matrix), -1)
    claimed = softmax(logits)
    chances = np.maximum(claimed @ pairs, np.finfo(np.float64).tiny)
    slopes = (claimed * logits) @ pairs / chances - (claimed * logits).sum(axis=1, keepdims=True)
    information: FloatArray = (chances * slopes**2).sum(axis=1)
    return information


@dataclass(frozen=True)
class RaterAgreement:
    """How often two labels of the same face are equal, over ``faces`` with at least two labels.

    ``usual``: where the agreement of FERPlus's annotators on such faces would lie. It is wide for
    two reasons. The model's doubts about a face may be its own alone (people agree as often as on
    any face of that majority) or the face's (each vote is a draw from the model's probabilities);
    and as many faces as these show their agreement only within what chance allows.
    """

    faces: int
    observed: float | None = None  # None, as ``usual``, without such a face
    usual: Interval | None = None

    @property
    def too_low(self) -> bool:
        return self.usual is not None and (self.observed or 0.0) < self.usual.low

    @property
    def too_high(self) -> bool:
        return self.usual is not None and (self.observed or 0.0) > self.usual.high


def rater_agreement(votes: ArrayLike, probabilities: ArrayLike) -> RaterAgreement:
    """``probabilities`` are the calibrated ones: they say what the faces are likely to show."""
    counts = as_votes(votes, *np.shape(votes))
    given = counts.sum(axis=1)
    several = given >= 2
    faces = int(np.count_nonzero(several))
    if not faces:
        return RaterAgreement(0)
    counts, given = counts[several], given[several]
    agreed = (counts * (counts - 1)).sum(axis=1) / (given * (given - 1))
    rows = as_probabilities(probabilities)[several]
    clear = float((rows @ np.array(PAIR_AGREEMENT)[: rows.shape[1]]).mean())
    unclear = float(np.square(rows @ vote_matrix(rows.shape[1])).sum(axis=1).mean())
    low, high = min(clear, unclear), max(clear, unclear)
    usual = Interval(
        max(0.0, low - Z * math.sqrt(low * (1 - low) / faces)),
        min(1.0, high + Z * math.sqrt(high * (1 - high) / faces)),
    )
    return RaterAgreement(faces, float(agreed.mean()), usual)
