"""Who says whether a smaller model still does what its parent did: with labels, or without.

Each fits, chooses and searches on its choosing faces and gives its verdict on the judging ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calib.agreement import Agreement, measure_agreement
from calib.arrays import FloatArray
from calib.drift import (
    DEFAULT_LIMITS,
    Drift,
    LimitCheck,
    Limits,
    Verdict,
    judge,
    measure_drift,
)
from calib.errors import RankotomError
from calib.metrics import ece, nll
from calib.predictions import Predictions
from calib.resampling import RESAMPLES
from calib.temperature import at_bound, fit_temperature, match_temperature, softmax
from export.predict import LabelledFaces
from export.unlabelled import UnlabelledFaces
from rankotom_edge.model.card import FacesUsed, ModelCard

# Beyond what few faces or another data set explain.
FAR_LESS = 0.2
SAME_TEMPERATURE = 1e-3  # what rounding leaves of a fit on the same faces
FEWEST = 20

Faces = NDArray[np.uint8]


@dataclass(frozen=True)
class Harm:
    """What a candidate does to its parent's figures on the choosing faces.

    Without labels ``nll`` is how far it strays from the parent's own probabilities (the
    Kullback-Leibler divergence), and its ECE is unknown.
    """

    nll: float
    ece: float | None

    @property
    def both(self) -> float:
        return self.nll + (self.ece or 0.0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The verdict and, of the two, what the judge could measure."""

    verdict: Verdict
    drift: Drift | None = None
    agreement: Agreement | None = None


class Judge(Protocol):
    """Faces are (n, channels, size, size), logits (n, k) of them."""

    @property
    def choosing(self) -> Faces: ...

    @property
    def judging(self) -> Faces: ...

    @property
    def used(self) -> tuple[FacesUsed, FacesUsed]:
        """What was chosen on, and what was judged on."""

    def fit(self, logits: FloatArray) -> float:
        """The temperature, by the choosing faces."""

    def harm(self, logits: FloatArray, temperature: float) -> Harm:
        """On the choosing faces."""

    def judged(self, logits: FloatArray, temperature: float) -> Judged:
        """On the judging faces."""


@dataclass(frozen=True, eq=False)
class WithLabels:
    """Judges by accuracy and calibration; ``parent_*`` are the parent's calibrated answers."""

    choose: LabelledFaces
    report: LabelledFaces
    parent_choosing: Predictions
    parent_judging: Predictions
    limits: Limits = DEFAULT_LIMITS
    resamples: int = RESAMPLES
    seed: int = 0

    @property
    def choosing(self) -> Faces:
        return self.choose.pixels

    @property
    def judging(self) -> Faces:
        return self.report.pixels

    @property
    def used(self) -> tuple[FacesUsed, FacesUsed]:
        return self.choose.used, self.report.used

    def fit(self, logits: FloatArray) -> float:
        """Fitted as the parent's was, less what these faces would move that one by: few faces, or
        others than it was fitted on, are nothing to hold against the smaller model."""
        fitted = fit_temperature(logits, self.choose.labels)
        return fitted if at_bound(fitted) else fitted / self._parents_move

    @cached_property
    def _parents_move(self) -> float:
        """What the parent's temperature would be multiplied by; 1 on the faces of its own."""
        tiny = np.finfo(np.float64).tiny
        logs = np.log(np.maximum(self.parent_choosing.probabilities, tiny))
        moved = fit_temperature(logs, self.choose.labels)
        return 1.0 if at_bound(moved) or abs(moved - 1) < SAME_TEMPERATURE else moved

    def harm(self, logits: FloatArray, temperature: float) -> Harm:
        before, after = self.parent_choosing, self._answers(logits, temperature, self.choose)
        (nll_was, ece_was), (nll_is, ece_is) = _nll_and_ece(before), _nll_and_ece(after)
        return Harm(nll_is - nll_was, ece_is - ece_was)

    def judged(self, logits: FloatArray, temperature: float) -> Judged:
        drift = measure_drift(
            self.parent_judging,
            self._answers(logits, temperature, self.report),
            resamples=self.resamples,
            seed=self.seed,
        )
        return Judged(judge(drift, self.limits), drift=drift)

    def _answers(self, logits: FloatArray, temperature: float, faces: LabelledFaces) -> Predictions:
        classes = self.parent_judging.classes
        return Predictions.from_logits(logits, faces.labels, classes, faces.votes, temperature)


@dataclass(frozen=True, eq=False)
class WithoutLabels:
    """Judges by agreement; ``parent_*`` are the parent's calibrated probabilities."""

    faces: UnlabelledFaces
    parent_choosing: FloatArray
    parent_judging: FloatArray
    classes: tuple[str, ...]
    limits: Limits = DEFAULT_LIMITS

    @property
    def choosing(self) -> Faces:
        return self.faces.calibrate

    @property
    def judging(self) -> Faces:
        return self.faces.judge

    @property
    def used(self) -> tuple[FacesUsed, FacesUsed]:
        return self.faces.calibrated_on, self.faces.judged_on

    def fit(self, logits: FloatArray) -> float:
        return match_temperature(logits, self.parent_choosing)

    def harm(self, logits: FloatArray, temperature: float) -> Harm:
        tiny = np.finfo(np.float64).eps
        said, meant = softmax(logits, temperature), self.parent_choosing
        logs = np.log(np.maximum(meant, tiny)) - np.log(np.maximum(said, tiny))
        return Harm(float((meant * logs).sum(axis=1).mean()), None)

    def judged(self, logits: FloatArray, temperature: float) -> Judged:
        said = softmax(logits, temperature)
        agreement = measure_agreement(self.parent_judging, said, self.classes)
        check = LimitCheck(
            "flips", agreement.flip_rate, agreement.flips_interval, self.limits.flips
        )
        verdict = Verdict(
            passed=not check.failed,
            reasons=(check.reason(),) if check.failed else (),
            unsure=(check.doubt(agreement.n),) if check.unsure else (),
        )
        return Judged(verdict, agreement=agreement)


def check_enough(*parts: FacesUsed) -> None:
    for faces in parts:
        if faces.count < FEWEST:
            raise RankotomError(
                f"{faces.name} has {faces.count} faces; to choose or to judge takes {FEWEST}. "
                "Is the data set whole?"
            )


def check_known_faces(card: ModelCard, said: Predictions, faces: FacesUsed) -> None:
    """Noise, other pictures or other labels are no faces to quantize or to judge by.

    Its parent tells: where it is right far less often than its card says, they are not its kind.
    """
    right, promised = float(np.mean(said.correct)), float(card.figures["accuracy"])
    if right < promised - FAR_LESS:
        raise RankotomError(
            f"{card.name} is right on {right:.0%} of the {faces.count:,} faces of {faces.name}, "
            f"and on {promised:.0%} by its card: these are not faces of its kind, or not their "
            "labels. Look at the data folder."
        )


def _nll_and_ece(predictions: Predictions) -> tuple[float, float]:
    return (
        nll(predictions.probabilities, predictions.labels),
        ece(predictions.confidence, predictions.correct),
    )
