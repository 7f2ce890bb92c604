"""Lets a user's calibration through only where the labels show that it is a gain."""

import math
from dataclasses import dataclass

import numpy as np

from calib.arrays import FloatArray, IntArray
from calib.intervals import Interval
from calib.limits import Verdict
from calib.own_calibration import OwnCalibration
from calib.rater import RaterAgreement, log_likelihood

FEWEST_GROUPS = 30  # fewer do not show how much groups differ; chosen by eye
# With one label a face, raters' disagreement and a model that is too sure look much alike, and the
# rater model is not exact: a temperature this far from 1 may be its error. Chosen by eye.
ONE_RATER = 1.15
TWO_RATERS = 1.5  # labels a face, on average, from which that does not matter
WORTH = math.log(1.2)  # a change of temperature that is too small to matter; chosen by eye
GRID = np.linspace(-math.log(5), math.log(5), 121)  # of log(temperature)
# Twice the log-likelihood that must be gained over the model as shipped, and that the ends of a
# 95 % interval lose (chi-square with one degree of freedom).
CHI_SQUARE = 3.8415


@dataclass(frozen=True)
class Evidence:
    """``gain``: twice the log-likelihood gained over the model as shipped. ``temperature``: the
    95 % interval by the labels alone, without the prior, and ``likeliest`` the maximum. ``weight``:
    each face counts as this many independent ones."""

    gain: float
    likeliest: float
    temperature: Interval
    weight: float


def independence(logits: FloatArray, likelihoods: FloatArray, groups: IntArray) -> float:
    """How many independent faces each face is worth, at most 1: faces of one group are alike.

    The variance of a sum of independent terms divided by that of the sums over groups (the inverse
    of the design effect), for the slopes of the log-likelihood in log(temperature).
    """
    claimed = OwnCalibration().apply(logits)
    mixed = claimed * likelihoods
    responsible = mixed / np.maximum(mixed.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    slopes = ((responsible - claimed) * logits).sum(axis=1)
    centred = slopes - slopes.mean()
    between = np.square(np.bincount(groups, weights=centred)).sum()
    return float(min(1.0, np.square(centred).sum() / between)) if between > 0 else 1.0


def measure_evidence(
    logits: FloatArray,
    likelihoods: FloatArray,
    weight: float,
    calibration: OwnCalibration,
    labels_per_face: float,
) -> Evidence:
    def fit(tried: OwnCalibration) -> float:
        return weight * float(log_likelihood(tried.apply(logits), likelihoods).sum())

    nearest = 1.0
    if labels_per_face < TWO_RATERS:
        nearest = min(max(calibration.temperature, 1 / ONE_RATER), ONE_RATER)
    profile = np.array([fit(OwnCalibration(math.exp(each))) for each in GRID])
    within = GRID[2 * (profile.max() - profile) <= CHI_SQUARE]
    return Evidence(
        gain=2 * (fit(calibration) - fit(OwnCalibration(nearest))),
        likeliest=math.exp(GRID[profile.argmax()]),
        temperature=Interval(math.exp(within[0]), math.exp(within[-1])),
        weight=weight,
    )


def judge_trial(
    evidence: Evidence,
    nll_change: float,
    nll_interval: Interval | None,
    raters: RaterAgreement,
    groups: int,
) -> Verdict:
    """``nll_change`` is held out, and its interval over groups; None for a single group."""
    reasons = []
    if groups < FEWEST_GROUPS:
        reasons.append(
            f"The labels are of {groups} independent {'face' if groups == 1 else 'faces'} "
            f"(tracks or photographs); at least {FEWEST_GROUPS} are needed."
        )
    if evidence.gain < CHI_SQUARE:
        reasons.append(_too_little(evidence))
    elif nll_interval is not None and nll_interval.low > 0:
        reasons.append(
            "On faces that it was not fitted to, the calibration explains the labels worse than "
            "the model as shipped, beyond chance."
        )
    if raters.too_low:
        reasons.append(f"{_agreement(raters)}: they say too little. Label those faces again.")
    return Verdict(not reasons, tuple(reasons), _doubts(nll_change, nll_interval, raters))


def _too_little(evidence: Evidence) -> str:
    spread = f"{evidence.temperature.low:.2f} to {evidence.temperature.high:.2f}"
    if settled(evidence):
        return f"Confidence is right as it is: the temperature is 1 within 20 % ({spread})."
    return (
        f"The labels leave open whether confidence is off at all: temperatures of {spread} explain "
        "them about as well as 1, the model as shipped."
    )


def _doubts(
    nll_change: float, interval: Interval | None, raters: RaterAgreement
) -> tuple[str, ...]:
    doubts = []
    if raters.too_high:
        doubts.append(f"{_agreement(raters)}: they may say more than is assumed here.")
    if interval is not None and interval.spans(0.0):
        doubts.append(
            f"NLL on held-out faces {_signed(nll_change)}, 95 % interval "
            f"{_signed(interval.low)} to {_signed(interval.high)}: chance might decide its sign."
        )
    return tuple(doubts)


def _agreement(raters: RaterAgreement) -> str:
    assert raters.observed is not None
    assert raters.usual is not None
    return (
        f"Two labels of a face agree on {100 * raters.observed:.0f} % of the faces, where "
        f"{100 * raters.usual.low:.0f} to {100 * raters.usual.high:.0f} % are usual"
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def settled(evidence: Evidence) -> bool:
    """Whether the temperature is so near 1 that there is nothing to gain."""
    ends = (evidence.temperature.low, evidence.temperature.high)
    return all(abs(math.log(end)) <= WORTH for end in ends)


def labels_to_go(evidence: Evidence, labels: int, groups: int) -> int | None:
    """About how many more labels would settle it, if the temperature stays where it is.

    An interval shrinks with the root of the number. It must shrink to the distance of the
    temperature from 1; or, if that is too small to matter, until that is clear. None where more
    labels are not what is missing.
    """
    reach = math.log(evidence.temperature.high / evidence.temperature.low) / 2
    distance = abs(math.log(evidence.likeliest))
    if groups >= FEWEST_GROUPS and (settled(evidence) or evidence.gain >= CHI_SQUARE):
        return None
    target = distance if distance > WORTH else WORTH
    wanted = max(labels * (reach / target) ** 2, labels * FEWEST_GROUPS / max(groups, 1))
    more = max(1.0, wanted - labels)
    step = 10 ** max(0, math.floor(math.log10(more)) - 1)
    return int(math.ceil(more / step) * step)
