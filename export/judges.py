"""The judges: does a smaller model predict as its parent does? With labels, or without.

A judge fits the temperature and compares settings on its calibration faces. It gives its verdict on
the held-out faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from calib.agreement import Agreement, measure_agreement
from calib.arrays import FloatArray
from calib.drift import Drift, judge, measure_drift
from calib.errors import RankotomError
from calib.limits import DEFAULT_LIMITS, LimitCheck, Limits, Verdict
from calib.metrics import ece, nll
from calib.predictions import Predictions
from calib.resampling import RESAMPLES
from calib.temperature import at_bound, fit_temperature, match_temperature, softmax
from export.faces import Faces, LabelledFaces
from export.predict import predict, run_model
from rankotom_edge.model.artifact import PROBABILITIES, Artifact
from rankotom_edge.model.card import FacesUsed, ModelCard
from rankotom_edge.model.onnx_runtime import open_session

# More than a small sample or another data set explains; chosen by eye, as is the number of faces.
MAX_ACCURACY_DROP = 0.2
MIN_FACES = 20
ROUNDING = 1e-3  # of a temperature that is fitted twice on the same faces


@dataclass(frozen=True)
class Degradation:
    """The change of NLL and ECE from parent to candidate on the calibration faces.

    Without labels ``nll`` is the Kullback-Leibler divergence from the parent's probabilities, and
    ECE is unknown.
    """

    nll: float
    ece: float | None

    @property
    def total(self) -> float:
        return self.nll + (self.ece or 0.0)


@dataclass(frozen=True, eq=False)
class Judgement:
    """A verdict and its measurements: a drift with labels, an agreement without."""

    verdict: Verdict
    drift: Drift | None = None
    agreement: Agreement | None = None


class Judge(Protocol):
    """Logits are (n, classes)."""

    @property
    def calibration(self) -> Faces: ...

    @property
    def held_out(self) -> Faces: ...

    def fit_temperature(self, logits: FloatArray) -> float:
        """From logits of the calibration faces."""

    def degradation(self, logits: FloatArray, temperature: float) -> Degradation:
        """From logits of the calibration faces."""

    def judge(self, logits: FloatArray, temperature: float) -> Judgement:
        """From logits of the held-out faces."""


@dataclass(frozen=True, eq=False)
class LabelledJudge:
    """Judges by accuracy and calibration; ``parent_on_*`` are the parent's own predictions."""

    calibration: LabelledFaces
    held_out: LabelledFaces
    parent_on_calibration: Predictions
    parent_on_held_out: Predictions
    limits: Limits = DEFAULT_LIMITS
    resamples: int = RESAMPLES
    seed: int = 0

    @classmethod
    def of_parent(
        cls,
        parent: Artifact,
        calibration: LabelledFaces,
        held_out: LabelledFaces,
        limits: Limits,
        resamples: int,
        seed: int,
    ) -> LabelledJudge:
        """Run the parent, and refuse faces that are too few or not what it was trained for."""
        check_face_count(calibration.used, held_out.used)
        on_calibration, on_held_out = predict(parent, calibration), predict(parent, held_out)
        check_parent_accuracy(parent.card, on_calibration, calibration.used)
        return cls(calibration, held_out, on_calibration, on_held_out, limits, resamples, seed)

    def fit_temperature(self, logits: FloatArray) -> float:
        """Fit it, and divide out the factor by which these faces would change the parent's.

        So a small sample, or faces that the parent was not calibrated on, do not count against the
        candidate.
        """
        fitted = fit_temperature(logits, self.calibration.labels)
        return fitted if at_bound(fitted) else fitted / self._parent_factor

    @cached_property
    def _parent_factor(self) -> float:
        """1 on the faces that the parent was calibrated on."""
        tiny = np.finfo(np.float64).tiny
        logits = np.log(np.maximum(self.parent_on_calibration.probabilities, tiny))
        factor = fit_temperature(logits, self.calibration.labels)
        return 1.0 if at_bound(factor) or abs(factor - 1) < ROUNDING else factor

    def degradation(self, logits: FloatArray, temperature: float) -> Degradation:
        candidate = self._predictions(logits, temperature, self.calibration)
        (nll_before, ece_before), (nll_after, ece_after) = (
            _nll_and_ece(each) for each in (self.parent_on_calibration, candidate)
        )
        return Degradation(nll_after - nll_before, ece_after - ece_before)

    def judge(self, logits: FloatArray, temperature: float) -> Judgement:
        drift = measure_drift(
            self.parent_on_held_out,
            self._predictions(logits, temperature, self.held_out),
            resamples=self.resamples,
            seed=self.seed,
        )
        return Judgement(judge(drift, self.limits), drift=drift)

    def _predictions(
        self, logits: FloatArray, temperature: float, faces: LabelledFaces
    ) -> Predictions:
        classes = self.parent_on_held_out.classes
        return Predictions.from_logits(logits, faces.labels, classes, faces.votes, temperature)


@dataclass(frozen=True, eq=False)
class UnlabelledJudge:
    """Judges by agreement; ``parent_on_*`` are the parent's own probabilities."""

    calibration: Faces
    held_out: Faces
    parent_on_calibration: FloatArray
    parent_on_held_out: FloatArray
    classes: tuple[str, ...]
    limits: Limits = DEFAULT_LIMITS

    @classmethod
    def of_parent(
        cls, parent: Artifact, calibration: Faces, held_out: Faces, limits: Limits
    ) -> UnlabelledJudge:
        session = open_session(parent.path)
        on_calibration, on_held_out = (
            run_model(session, faces.pixels, (PROBABILITIES,))[0].astype(np.float64)
            for faces in (calibration, held_out)
        )
        return cls(calibration, held_out, on_calibration, on_held_out, parent.card.labels, limits)

    def fit_temperature(self, logits: FloatArray) -> float:
        return match_temperature(logits, self.parent_on_calibration)

    def degradation(self, logits: FloatArray, temperature: float) -> Degradation:
        tiny = np.finfo(np.float64).eps
        candidate, parent = softmax(logits, temperature), self.parent_on_calibration
        log_ratio = np.log(np.maximum(parent, tiny)) - np.log(np.maximum(candidate, tiny))
        return Degradation(float((parent * log_ratio).sum(axis=1).mean()), None)

    def judge(self, logits: FloatArray, temperature: float) -> Judgement:
        candidate = softmax(logits, temperature)
        agreement = measure_agreement(self.parent_on_held_out, candidate, self.classes)
        check = LimitCheck(
            "flips", agreement.flip_rate, agreement.flips_interval, self.limits.flips
        )
        verdict = Verdict(
            passed=not check.failed,
            reasons=(check.reason(),) if check.failed else (),
            unsure=(check.doubt(agreement.n),) if check.unsure else (),
        )
        return Judgement(verdict, agreement=agreement)


def check_face_count(*parts: FacesUsed) -> None:
    for faces in parts:
        if faces.count < MIN_FACES:
            raise RankotomError(
                f"{faces.name} has {faces.count} faces, and at least {MIN_FACES} are needed. "
                "Is the data set complete?"
            )


def check_parent_accuracy(card: ModelCard, predictions: Predictions, faces: FacesUsed) -> None:
    """Refuse noise, other pictures and wrong labels: on those the parent is right far less often
    than its card says."""
    measured = float(np.mean(predictions.correct))
    expected = card.evaluation.metrics["accuracy"].value
    assert expected is not None  # every card has it
    if measured < expected - MAX_ACCURACY_DROP:
        raise RankotomError(
            f"{card.name} is right on {measured:.0%} of the {faces.count:,} faces of {faces.name}, "
            f"and its card says {expected:.0%}. The pictures or the labels are not what it was "
            "trained for; look at the data folder."
        )


def _nll_and_ece(predictions: Predictions) -> tuple[float, float]:
    return (
        nll(predictions.probabilities, predictions.labels),
        ece(predictions.confidence, predictions.correct),
    )
