"""Reads a frame: frame -> faces -> crops -> probabilities -> readings."""

import time

import numpy as np

from calib.arrays import FloatArray
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import POOR, UNREADABLE, QualityHistory
from rankotom_edge.faces.second_pass import Detect
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.classifier import Classifier, Scores
from rankotom_edge.model.own_calibration import SavedCalibration
from rankotom_edge.readings.error_budget import ErrorBudget
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading, read_expression
from rankotom_edge.readings.smoothing import Smoother


class DetectTimer:
    """Sums the milliseconds that detector calls take; None until one is made."""

    def __init__(self) -> None:
        self.milliseconds: float | None = None

    def wrap(self, detect: Detect) -> Detect:
        def detect_timed(image: Image) -> tuple[Face, ...]:
            started = time.perf_counter()
            faces = detect(image)
            self.milliseconds = _milliseconds_since(started) + (self.milliseconds or 0)
            return faces

        return detect_timed


class Reader:
    """Finds the faces of a frame and reads their expressions.

    ``far``: a slower detector for faces that are too far away for ``detect``.
    ``stills``: every frame is a photograph of its own, with no faces to follow.
    ``own``: the calibration on the user's own faces.
    """

    def __init__(
        self,
        detect: Detect,
        classifier: Classifier,
        budget: ErrorBudget,
        far: Detect | None = None,
        stills: bool = False,
        own: SavedCalibration | None = None,
    ) -> None:
        card = classifier.artifact.card
        self.model, self.precision = card.name, card.precision
        self.calibration = None if own is None else own.words
        self._card, self._own = card, own
        measured = card if own is None else own.measured_model(card)
        self._classifier = classifier
        self._timer = DetectTimer()
        self._tracker = Tracker(
            self._timer.wrap(detect),
            far=None if far is None else self._timer.wrap(far),
            stills=stills,
        )
        self._smoother = Smoother()
        self._qualities = QualityHistory()
        self._previous: dict[int, Reading] = {}  # the last frame's readings, by track
        self._needed = budget.confidence_needed(measured.evaluation)
        self._set_rule = budget.set_rule(measured.evaluation)
        # A guarantee holds for faces as clear as the measured ones.
        believed = card.recipe.get("damaged") and budget.overall is None
        self._unreadable_below = UNREADABLE if believed else POOR

    def read(self, frame: Frame) -> FrameReadings:
        started = time.perf_counter()
        self._timer.milliseconds = None
        faces = self._tracker.update(frame)
        find = _milliseconds_since(started)

        contract = self._card.crop
        crops = np.zeros((len(faces), contract.channels, contract.size, contract.size), np.uint8)
        qualities = []
        image = frame.grey if contract.channels == 1 else frame.image
        for index, tracked in enumerate(faces):
            face = tracked.face
            crops[index] = crop(image, face, contract.framing, contract.size, contract.channels)
            qualities.append(
                self._qualities.update(
                    tracked.track, face, tracked.detected, frame.time, frame.image, crops[index]
                )
            )

        started = time.perf_counter()
        scores = self._classifier.classify(crops)
        probabilities = self._calibrate(scores)
        classify = _milliseconds_since(started)

        readings = []
        for index, tracked in enumerate(faces):
            raw = probabilities[index]
            readings.append(
                read_expression(
                    tracked,
                    labels=self._card.labels,
                    raw=raw,
                    probabilities=self._smoother.update(tracked.track, raw, frame.time),
                    quality=qualities[index],
                    needed=self._needed,
                    set_rule=self._set_rule,
                    unreadable_below=self._unreadable_below,
                    crop=crops[index],
                    evidence=None if scores.evidence is None else scores.evidence[index],
                    before=self._previous.get(tracked.track),
                    time=frame.time,
                )
            )
        self._smoother.forget_old(frame.time)
        self._qualities.forget_others(face.track for face in faces)
        self._previous = {reading.track: reading for reading in readings}
        total = 1000 * (time.monotonic() - frame.captured)
        latency = Latency(self._timer.milliseconds, classify, total, find)
        return FrameReadings(frame, tuple(readings), latency)

    def _calibrate(self, scores: Scores) -> FloatArray:
        if self._own is None:
            return scores.probabilities.astype(np.float64)
        return self._own.apply(scores.logits.astype(np.float64) / self._card.temperature)


def _milliseconds_since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
