"""No alarm on faces of the kind that the model was measured on, one on the same faces damaged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from calib.emotions import EMOTIONS
from calib.evaluation import evaluate
from calib.prediction_files import read_predictions
from calib.predictions import Predictions
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality, measure_quality
from rankotom_edge.frame import Frame, Image
from rankotom_edge.live.reader import Reader
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.card import CropContract, MeasuredModel
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.own_calibration import Usual
from rankotom_edge.readings.drift_monitor import (
    MIN_FACES,
    OTHER_EXPRESSIONS,
    WINDOW,
    DriftMonitor,
    DriftStatus,
    find_onset,
)
from rankotom_edge.readings.error_budget import ErrorBudget
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from train.data.datasets import data_folder, load_dataset, validation_half

HELD_OUT = read_predictions(Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz")
FERPLUS, LFW = data_folder(None) / "FERPlus", data_folder(None) / "lfw-deepfunneled"
needs_ferplus = pytest.mark.skipif(
    not (FERPLUS / "fer2013new.csv").exists(), reason=f"FERPlus is not in {FERPLUS.parent}"
)
needs_lfw = pytest.mark.skipif(not LFW.is_dir(), reason=f"LFW is not in {LFW.parent}")

GOOD = Quality.of(size=0.9, sharpness=0.9, light=0.9, pose=0.9, whole=0.9)
DARK = replace(GOOD, score=0.2, light=0.2)
FACE = Face((4, 4, 40, 40), (14, 18), (34, 18), (24, 28), (24, 36), 0.9)
PIXEL = np.zeros((1, 1, 3), np.uint8)
MORNING = datetime(2026, 11, 16, 9, 0)
EVERY = 30.0  # seconds between two faces

Array = NDArray[np.float64]
Seen = tuple[Array, Quality]


def reading(track: int, raw: Array, quality: Quality) -> Reading:
    """Its smoothed probabilities are uniform: a monitor that used them would fail."""
    even = np.full(len(raw), 1 / len(raw))
    return Reading(track, FACE, quality, EMOTIONS, even, raw, None, "sure", None)


def frame_readings(seconds: float, *readings: Reading) -> FrameReadings:
    return FrameReadings(Frame(PIXEL, 0, seconds, 0.0), readings, Latency(None, 1.0, 2.0))


class Device:
    """A monitor and the time of day around it."""

    def __init__(self, model: MeasuredModel) -> None:
        self.model = model
        self.seconds = 0.0
        self.offset = timedelta()  # of a clock that is wrong
        self.faces = 0
        self.monitor = DriftMonitor(model, lambda: self.now)

    @property
    def now(self) -> datetime:
        return MORNING + timedelta(seconds=self.seconds) + self.offset

    def sees(self, faces: Iterable[Seen], frames: int = 2) -> list[DriftStatus]:
        """Each a track of its own; the state after each."""
        states = []
        for raw, quality in faces:
            self.faces += 1
            for number in range(frames):
                shown = reading(self.faces, raw, quality)
                self.monitor.write(frame_readings(self.seconds + number / 30, shown))
            self.seconds += EVERY
            states.append(self.monitor.drift)
        return states


def measured_on(probabilities: Array) -> MeasuredModel:
    """A model whose card describes these faces; their labels do not matter here."""
    labels = probabilities.argmax(axis=1)
    evaluation = evaluate(Predictions(probabilities, labels, EMOTIONS), resamples=1)
    crop_contract = CropContract(48, 1, FERPLUS_FRAMING)
    return MeasuredModel("made-up", "fp32", EMOTIONS, crop_contract, evaluation)


def drawn(source: Array, count: int, random: np.random.Generator) -> Array:
    return source[random.integers(len(source), size=count)]


def sharpened(probabilities: Array, power: float) -> Array:
    powers = probabilities**power
    return powers / powers.sum(axis=1, keepdims=True)


def with_quality(rows: Array, quality: Quality) -> list[Seen]:
    return [(row, quality) for row in rows]


@pytest.fixture(scope="module")
def model() -> MeasuredModel:
    return measured_on(HELD_OUT.probabilities)


@pytest.fixture
def device(model: MeasuredModel) -> Device:
    return Device(model)


def test_a_cause_begins_where_the_poor_faces_do_and_not_with_a_single_one() -> None:
    light, none = {"light", "contrast"}, set[str]()
    assert find_onset([none, light, none, none, none, light, light, none, light]) == ("light", 5)
    assert find_onset([light, light, none, none, none, none]) is None
    assert find_onset([]) is None
    assert find_onset([{"sharpness", "size"}] * 3) == ("size", 0)


def test_a_track_is_one_face_for_an_hour_and_longer(device: Device) -> None:
    random = np.random.default_rng(0)
    for second, raw in enumerate(drawn(HELD_OUT.probabilities, 3600, random)):
        device.monitor.write(frame_readings(second, reading(1, raw, DARK)))
    drift = device.monitor.drift
    assert (drift.kind, drift.faces, drift.index) == ("learning", 1, None)
    assert drift.words == f"watching whether confidence stays as measured: 1 of {MIN_FACES} faces"


def test_one_person_who_comes_and_goes_all_day_raises_no_alarm(device: Device) -> None:
    """Always neutral, and never as sure as the faces of the artifact."""
    random = np.random.default_rng(0)
    rows = np.full((400, len(EMOTIONS)), 0.05)
    rows[:, 0] = random.uniform(0.5, 0.7, len(rows))
    states = device.sees(with_quality(rows / rows.sum(axis=1, keepdims=True), GOOD))
    assert {state.kind for state in states} == {"learning", "steady"}
    assert states[-1].cause == OTHER_EXPRESSIONS
    assert states[-1].index is not None
    assert states[-1].index > 0.25


def test_held_out_faces_raise_no_alarm_even_where_every_picture_is_poor() -> None:
    """Twenty cameras on a day of 1,000 faces each: at most one alarm in 100,000 is stated. Each
    has an artifact that was measured on other faces than it sees."""
    random = np.random.default_rng(1)
    alarms = 0
    for _ in range(20):
        here, there = np.array_split(random.permutation(len(HELD_OUT)), 2)
        device = Device(measured_on(HELD_OUT.probabilities[there]))
        rows = drawn(HELD_OUT.probabilities[here], 1000, random)
        alarms += "drifted" in {state.kind for state in device.sees(with_quality(rows, DARK))}
    assert alarms == 0


@pytest.mark.parametrize("power", [0.4, 4.0], ids=["less sure", "surer"])
def test_confidence_that_moves_in_the_dark_is_reported_with_its_start(
    device: Device, power: float
) -> None:
    random = np.random.default_rng(2)
    before = device.sees(with_quality(drawn(HELD_OUT.probabilities, 203, random), GOOD))
    assert (before[-1].kind, before[-1].words) == ("steady", "as measured")
    began = device.now
    rows = sharpened(drawn(HELD_OUT.probabilities, 200, random), power)
    states = device.sees(with_quality(rows, DARK))
    noticed = next(place for place, state in enumerate(states) if state.kind == "drifted")
    assert noticed + 1 >= MIN_FACES
    drift = states[noticed]
    assert drift.since == began
    assert drift.words == f"confidence has drifted: light is low since {began:%H:%M}"
    assert drift.cause == "light is low"
    assert states[-1].since == began
    assert states[-1].as_json()["since"] == began.isoformat()


def test_what_is_usual_for_a_source_is_what_was_seen_there(model: MeasuredModel) -> None:
    """Its faces are less sure than those of the model's file, and were so when it was calibrated:
    no alarm. When they become as sure as the file's, in the dark, that is one."""
    random = np.random.default_rng(2)
    usual = Usual.of(sharpened(drawn(HELD_OUT.probabilities, 400, random), 0.4))
    noticed: list[DriftStatus] = []
    device = Device(model)
    device.monitor = DriftMonitor(model, lambda: device.now, usual=usual, on_drift=noticed.append)
    rows = sharpened(drawn(HELD_OUT.probabilities, 200, random), 0.4)
    assert device.sees(with_quality(rows, DARK))[-1].kind == "steady"
    assert noticed == []
    rows = drawn(HELD_OUT.probabilities, 2 * WINDOW, random)
    assert device.sees(with_quality(rows, DARK))[-1].kind == "drifted"
    assert [status.cause for status in noticed] == ["light is low"]


def test_the_start_of_a_drift_outlasts_the_window(device: Device) -> None:
    rows = sharpened(drawn(HELD_OUT.probabilities, 3 * WINDOW, np.random.default_rng(3)), 4.0)
    states = device.sees(with_quality(rows, DARK))
    assert states[-1].since == MORNING
    assert states[-1].faces == WINDOW
    device.seconds += 24 * 3600
    assert device.sees(with_quality(rows[:1], DARK))[-1].words.endswith("since 2026-11-16 09:00")


def test_the_alarm_ends_soon_after_its_cause(device: Device) -> None:
    random = np.random.default_rng(4)
    device.sees(with_quality(sharpened(drawn(HELD_OUT.probabilities, 200, random), 4.0), DARK))
    assert device.monitor.drift.kind == "drifted"
    states = device.sees(with_quality(drawn(HELD_OUT.probabilities, 100, random), GOOD))
    assert {state.kind for state in states[20:]} == {"learning", "steady"}
    assert states[-1].words == "as measured"


def test_poor_pictures_without_a_change_of_confidence_are_no_drift(device: Device) -> None:
    rows = drawn(HELD_OUT.probabilities, 400, np.random.default_rng(5))
    assert device.sees(with_quality(rows, DARK))[-1].words == "as measured"


def test_a_change_of_confidence_without_a_cause_is_no_drift(device: Device) -> None:
    rows = sharpened(drawn(HELD_OUT.probabilities, 400, np.random.default_rng(6)), 4.0)
    states = device.sees(with_quality(rows, GOOD))
    assert "drifted" not in {state.kind for state in states}
    assert states[-1].words == "not quite as measured, with no cause in sight"


def test_a_cause_that_is_in_sight_is_named_before_it_is_an_alarm(device: Device) -> None:
    random = np.random.default_rng(8)
    device.sees(with_quality(drawn(HELD_OUT.probabilities, 70, random), GOOD))
    dark = sharpened(drawn(HELD_OUT.probabilities, MIN_FACES - 5, random), 0.3)
    states = device.sees(with_quality(dark, DARK))
    assert "drifted" not in {state.kind for state in states}
    assert states[-1].words == "not quite as measured: light is low"


def test_light_that_falls_while_the_same_people_stay_is_noticed(device: Device) -> None:
    random = np.random.default_rng(9)
    clear = drawn(HELD_OUT.probabilities, 80, random)
    dark = sharpened(drawn(HELD_OUT.probabilities, 80, random), 6.0)
    for minute in range(4):
        rows, quality = (clear, GOOD) if minute < 2 else (dark, DARK)
        for track, raw in enumerate(rows):
            device.monitor.write(
                frame_readings(60.0 * minute + track / 10, reading(track, raw, quality))
            )
    assert device.monitor.drift.kind == "drifted"
    assert device.monitor.drift.cause == "light is low"


def test_a_clock_that_is_set_right_later_moves_no_face(device: Device) -> None:
    """A board without a battery starts in 1970, and learns the time from the network."""
    random = np.random.default_rng(10)
    dark = sharpened(drawn(HELD_OUT.probabilities, 150, random), 6.0)
    wrong = Device(device.model)
    wrong.offset = -timedelta(days=20000)
    states = wrong.sees(with_quality(dark[:100], DARK))
    assert states[-1].kind == "drifted"
    wrong.offset = timedelta()
    states = wrong.sees(with_quality(dark[100:], DARK))
    assert states[-1].since == MORNING
    assert states[-1].faces == 150


def test_an_artifact_that_does_not_say_what_is_usual_is_no_reason_to_fail(
    model: MeasuredModel,
) -> None:
    untold = replace(model.evaluation, reliability=(), per_class=())
    device = Device(replace(model, evaluation=untold))
    states = device.sees(with_quality(HELD_OUT.probabilities[:100], DARK))
    assert (states[-1].kind, states[-1].index) == ("learning", None)


def test_memory_and_time_do_not_grow(device: Device) -> None:
    """Two faces in view at 30 frames a second, new people every 20 s: 5 us a frame when it was
    written; ten times what the loop can spare is a fault."""
    rows = with_quality(drawn(HELD_OUT.probabilities, 1000, np.random.default_rng(7)), GOOD)
    device.sees(rows)
    assert len(device.monitor._samples) == WINDOW
    sequence = []
    for frame in range(6000):
        both = [reading(5000 + frame // 600 + 500 * side, *rows[side]) for side in (0, 1)]
        sequence.append(frame_readings(1e6 + frame / 30, *both))
    started = time.thread_time()
    for shown in sequence:
        device.monitor.write(shown)
    assert (time.thread_time() - started) / len(sequence) < 200e-6


Damage = Callable[[Image], Image]
DAMAGES: dict[str, Damage] = {
    "light is low": lambda picture: picture // 40,
    "pictures are blurred": lambda picture: np.asarray(
        cv2.GaussianBlur(picture, (0, 0), 2.5 * len(picture) / 48), np.uint8
    ),
    "faces are small": lambda picture: np.asarray(
        cv2.resize(picture, (13, 13), interpolation=cv2.INTER_AREA), np.uint8
    ),
}


@needs_ferplus
def test_real_faces_are_as_measured_and_drift_once_dark_blurred_or_small() -> None:
    """As they are, of the half of FERPlus valid that the artifact was not measured on: compared
    with faces that it counts itself, nothing could drift. Damaged, of either."""
    artifact = load_artifact("ferplus-fp32")
    framing, size = artifact.card.crop.framing, artifact.card.crop.size
    classifier = Classifier(artifact)
    valid = load_dataset("ferplus", FERPLUS, "valid")
    others, counted = (
        validation_half(valid, which).files[::5][:WINDOW] for which in ("choose", "report")
    )

    def seen(files: Iterable[Path], damage: Damage) -> list[Seen]:
        crops, qualities = [], []
        for file in files:
            damaged = damage(np.asarray(cv2.imread(str(file)), np.uint8))
            side = len(damaged)
            left, right, mouth = (tuple(side * point) for point in framing.points)
            nose = ((left[0] + right[0]) / 2, 0.6 * side)
            face = Face((0, 0, side, side), left, right, nose, mouth, 0.9)
            crops.append(crop(damaged, face, framing, size, 1))
            qualities.append(measure_quality(damaged, face, crops[-1]))
        raw = classifier.classify(np.stack(crops)).probabilities.astype(np.float64)
        return list(zip(raw, qualities, strict=True))

    device = Device(artifact.card)
    plain = device.sees(seen(others, lambda picture: picture))
    assert {state.kind for state in plain} == {"learning", "steady"}
    assert plain[-1].words == "as measured"
    for cause, damage in DAMAGES.items():
        for files in (others[:150], counted[:150]):
            states = Device(artifact.card).sees(seen(files, damage))
            assert (states[-1].kind, states[-1].cause) == ("drifted", cause)


@needs_lfw
def test_photographs_of_other_people_are_no_drift() -> None:
    """LFW through the real detector, tracker and crop."""
    artifact = load_artifact("ferplus-fp32")
    files = sorted(LFW.glob("*/*_0001.jpg"))[::40][:120]
    classifier = Classifier(artifact)
    with FaceDetector() as detector:
        reader = Reader(detector.detect, classifier, ErrorBudget(), stills=True)
        monitor = DriftMonitor(artifact.card)
        for index, file in enumerate(files):
            picture = np.asarray(cv2.imread(str(file)), np.uint8)
            frame = Frame(picture, index, EVERY * index, 0.0)
            monitor.write(reader.read(frame))
    assert monitor.drift.kind == "steady"
    assert monitor.drift.faces >= 100
