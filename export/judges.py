"""Who says whether a smaller model still does what its parent did: with labels, or without.

Each fits, chooses and searches on its choosing faces and gives its verdict on the judging ones.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
    past_limit,
)
from calib.errors import RankotomError
from calib.metrics import accuracy, adaptive_ece, ece, nll
from calib.predictions import Predictions
from calib.resampling import RESAMPLES
from calib.temperature import fit_temperature, match_temperature, softmax
from export.predict import LabelledFaces
from export.unlabelled import UnlabelledFaces
from rankotom_edge.artifact import FacesUsed, ModelCard

# Beyond what few faces or another data set explain.
FAR_LESS = 0.2
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

    def allows(self, logits: FloatArray, temperature: float) -> bool:
        """Whether the limits hold on the choosing faces: if so, a verdict is worth asking for."""

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
        return fit_temperature(logits, self.choose.labels)

    def harm(self, logits: FloatArray, temperature: float) -> Harm:
        change = self._change(logits, temperature)
        return Harm(change["nll"], change["ece"])

    def allows(self, logits: FloatArray, temperature: float) -> bool:
        change = self._change(logits, temperature)
        return not any(
            past_limit(name, change[name], size) for name, size in asdict(self.limits).items()
        )

    def judged(self, logits: FloatArray, temperature: float) -> Judged:
        drift = measure_drift(
            self.parent_judging,
            self._answers(logits, temperature, self.report),
            resamples=self.resamples,
            seed=self.seed,
        )
        return Judged(judge(drift, self.limits), drift=drift)

    def _change(self, logits: FloatArray, temperature: float) -> Mapping[str, float]:
        before, after = self.parent_choosing, self._answers(logits, temperature, self.choose)
        was, is_ = _figures(before), _figures(after)
        flips = float(np.mean(before.predicted != after.predicted))
        return {name: is_[name] - was[name] for name in was} | {"flips": flips}

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

    def allows(self, logits: FloatArray, temperature: float) -> bool:
        flipped = logits.argmax(axis=1) != self.parent_choosing.argmax(axis=1)
        return not past_limit("flips", float(flipped.mean()), self.limits.flips)

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


def _figures(predictions: Predictions) -> dict[str, float]:
    probabilities, labels = predictions.probabilities, predictions.labels
    return {
        "accuracy": accuracy(probabilities, labels),
        "ece": ece(predictions.confidence, predictions.correct),
        "aece": adaptive_ece(predictions.confidence, predictions.correct),
        "nll": nll(probabilities, labels),
    }
