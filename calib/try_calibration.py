"""Tries a calibration on a user's labels: fitted to all of them, measured held out, then judged.

Every figure of 'after' is cross-fitted: the faces are split by group (a track, a photograph) into
parts, and each part is read with the calibration that was fitted to the other parts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import FloatArray, IntArray, as_numbers, as_votes
from calib.errors import RankotomError
from calib.evaluation import Estimate
from calib.intervals import Interval
from calib.label_trial import SUBJECTS, LabelledFigures, LabelTrial
from calib.limits import Verdict
from calib.own_calibration import OwnCalibration, fit_calibration
from calib.rater import RaterAgreement, log_likelihood, rater_agreement, vote_likelihoods
from calib.resampling import worst_value
from calib.right_share import RightTerms
from calib.trial_gate import Evidence, independence, judge_trial, labels_to_go, measure_evidence

RESAMPLES = 400
FOLDS = 5
# Offsets need this many independent faces, and twice the log-likelihood that they gain over the
# temperature alone must be this much a face: faces spread over the range of confidence have other
# labels than all faces, which looks like a small gain. The evidence, for users with another mix:
# `python -m train.experiments.own_calibration`.
OFFSETS_FROM = 200
OFFSETS_GAIN = 0.065
LARGEST_DOUBT = 1.2  # temperature; chosen by eye
QUANTILES = (0.025, 0.975)


def try_calibration(
    logits: ArrayLike,
    votes: ArrayLike,
    groups: ArrayLike,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LabelTrial:
    """``logits`` (n, k) are the model's own, divided by its temperature; ``votes`` (n, k) count the
    labels of each face, none where nobody could tell; faces with the same value in ``groups`` (n,)
    are not independent of each other."""
    sample = LabelledSample.of(logits, votes, groups)
    decision = decide(sample, resamples, seed)
    figures, change, intervals = _compare(sample, decision, resamples, seed)
    return LabelTrial(
        calibration=decision.calibration,
        before=figures[0],
        after=figures[1],
        change=change,
        intervals=intervals,
        evidence=decision.evidence,
        raters=decision.raters,
        verdict=decision.verdict,
        faces=len(sample.votes),
        labels=sample.labels,
        groups=sample.group_count,
        unlabelled=sample.unlabelled,
        labels_to_go=(
            None
            if decision.verdict.passed
            else labels_to_go(decision.evidence, sample.labels, sample.group_count)
        ),
    )


@dataclass(frozen=True, eq=False)
class Decision:
    """What is fitted and whether it passes; ``held_out`` are the cross-fitted probabilities."""

    calibration: OwnCalibration
    held_out: FloatArray
    evidence: Evidence
    raters: RaterAgreement
    verdict: Verdict


def decide(sample: "LabelledSample", resamples: int = RESAMPLES, seed: int = 0) -> Decision:
    """The fit and the gate, without the figures of a report."""
    weight = independence(sample.logits, sample.likelihoods, sample.groups)
    calibration, held_out = _fit(sample, weight, seed)
    evidence = measure_evidence(
        sample.logits, sample.likelihoods, weight, calibration, sample.labels / len(sample.votes)
    )
    # Raters who guess raise the temperature, until their disagreement seems to be the faces'.
    doubt = OwnCalibration(min(calibration.temperature, LARGEST_DOUBT))
    raters = rater_agreement(sample.votes, doubt.apply(sample.logits))
    losses = sample.losses(held_out) - sample.losses(OwnCalibration().apply(sample.logits))
    change, interval = float(losses.mean()), None
    if sample.group_count > 1:
        weights = sample.resampled(resamples, seed)
        interval = shifted_interval(change, weights @ losses / weights.sum(axis=1))
    verdict = judge_trial(evidence, change, interval, raters, sample.group_count)
    return Decision(calibration, held_out, evidence, raters, verdict)


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """The faces with a label; ``groups`` are numbered from 0."""

    logits: FloatArray
    votes: FloatArray
    groups: IntArray
    likelihoods: FloatArray
    unlabelled: int

    @classmethod
    def of(cls, logits: ArrayLike, votes: ArrayLike, groups: ArrayLike) -> "LabelledSample":
        scores = as_numbers(logits, "logits", dimensions=2)
        counts = as_votes(votes, *scores.shape)
        names = np.asarray(groups)
        if names.shape != (len(scores),):
            raise RankotomError(
                f"There are {len(scores):,} faces, but the groups have shape {names.shape}."
            )
        labelled = counts.sum(axis=1) > 0
        if not labelled.any():
            raise RankotomError(
                f"None of the {len(scores):,} faces has a label: for each, nobody could tell what "
                "it shows. Label clearer faces."
            )
        numbered = np.unique(names[labelled], return_inverse=True)[1]
        return cls(
            logits=scores[labelled],
            votes=counts[labelled],
            groups=numbered.astype(np.int64),
            likelihoods=vote_likelihoods(counts[labelled]),
            unlabelled=int(np.count_nonzero(~labelled)),
        )

    @property
    def labels(self) -> int:
        return round(float(self.votes.sum()))

    @property
    def group_count(self) -> int:
        return int(self.groups.max()) + 1

    def losses(self, probabilities: FloatArray) -> FloatArray:
        losses: FloatArray = -log_likelihood(probabilities, self.likelihoods)
        return losses

    def resampled(self, resamples: int, seed: int) -> FloatArray:
        """How often each face is drawn in each resample of the groups (resamples, n)."""
        random = np.random.default_rng(seed)
        shares = np.full(self.group_count, 1 / self.group_count)
        drawn = random.multinomial(self.group_count, shares, size=resamples)
        weights: FloatArray = drawn[:, self.groups].astype(np.float64)
        return weights


def _fit(sample: LabelledSample, weight: float, seed: int) -> tuple[OwnCalibration, FloatArray]:
    """The calibration of all faces, and each face's probabilities by that of the other parts."""
    logits, likelihoods = sample.logits, sample.likelihoods
    found, offsets = fit_calibration(logits, likelihoods, weight), False
    if sample.group_count >= OFFSETS_FROM:
        larger = fit_calibration(logits, likelihoods, weight, offsets=True)
        fits = [log_likelihood(each.apply(logits), likelihoods).sum() for each in (found, larger)]
        offsets = 2 * weight * float(fits[1] - fits[0]) >= OFFSETS_GAIN * sample.group_count
        found = larger if offsets else found
    held_out = OwnCalibration().apply(logits)
    parts = split_groups(sample.group_count, seed)[sample.groups]
    for part in np.unique(parts) if sample.group_count > 1 else ():
        mine = parts == part
        fitted = fit_calibration(logits[~mine], likelihoods[~mine], weight, offsets)
        held_out[mine] = fitted.apply(logits[mine])
    return found, held_out


def split_groups(groups: int, seed: int) -> IntArray:
    """The part of each group: parts of equal size, at random."""
    order = np.random.default_rng(seed).permutation(groups)
    return (order % FOLDS).astype(np.int64)


def _compare(
    sample: LabelledSample, decision: Decision, resamples: int, seed: int
) -> tuple[list[LabelledFigures], dict[str, float], dict[str, Interval]]:
    """The figures of both, and the change with its paired interval: the same groups are drawn with
    replacement for both."""
    weights = sample.resampled(resamples, seed)
    once = np.ones((1, len(sample.votes)))
    enough = sample.group_count >= 2
    given = sample.votes.sum(axis=1).round().astype(np.int64)
    figures, values, draws = [], [], []
    for rows in (OwnCalibration().apply(sample.logits), decision.held_out):
        terms = RightTerms.of(rows, sample.likelihoods)
        values.append(
            {name: float(each[0]) for name, each in _statistics(sample, rows, terms, once).items()}
        )
        draws.append(_statistics(sample, rows, terms, weights))
        bins, bin_intervals = terms.bins(decision.evidence.weight)
        estimates = {
            name: Estimate(value, _within(name, value, draws[-1][name]) if enough else None)
            for name, value in values[-1].items()
        }
        floor = terms.floor(rows, given, resamples, seed)
        figures.append(
            LabelledFigures(
                nll=estimates["nll"],
                ece=Estimate(estimates["ece"].value, estimates["ece"].interval, floor),
                accuracy=estimates["accuracy"],
                confidence=float(terms.confidence.mean()),
                bins=bins,
                bin_intervals=bin_intervals,
            )
        )
    change = {name: values[1][name] - values[0][name] for name in SUBJECTS}
    intervals = {
        name: shifted_interval(change[name], draws[1][name] - draws[0][name])
        for name in SUBJECTS
        if enough
    }
    return figures, change, intervals


def _statistics(
    sample: LabelledSample, rows: FloatArray, terms: RightTerms, weights: FloatArray
) -> dict[str, FloatArray]:
    return {
        "nll": weights @ sample.losses(rows) / weights.sum(axis=1),
        "ece": terms.ece(weights),
        "accuracy": terms.share(weights),
    }


def _within(name: str, value: float, draws: FloatArray) -> Interval:
    spread = shifted_interval(value, draws)
    return Interval(max(0.0, spread.low), min(worst_value(name), spread.high))


def shifted_interval(value: float, draws: FloatArray) -> Interval:
    """The middle 95 % of the draws, shifted so that their mean is the value: a resample, which
    repeats faces, has a larger ECE than the sample (calib/resampling.py)."""
    low, high = np.quantile(draws, QUANTILES) + (value - draws.mean())
    return Interval(min(float(low), value), max(float(high), value))
