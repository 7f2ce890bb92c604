"""Frames of the demo through the real detector and model."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.frame import Frame
from rankotom_edge.live.reader import Reader
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.own_calibration import SavedCalibration
from rankotom_edge.readings.error_budget import ErrorBudget
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import open_source
from rankotom_edge.sources.demo import load_portrait


def read_demo(reader: Reader, frames: int) -> list[FrameReadings]:
    read = []
    with open_source("demo") as source:
        for _ in range(frames):
            frame = source.read(10.0)
            assert frame is not None
            read.append(reader.read(frame))
    return read


def test_the_face_of_the_demo_is_found_cropped_and_read(reader: Reader) -> None:
    (reading,) = read_demo(reader, 20)[-1].readings
    assert reading.top == "happiness"
    assert reading.crop is not None
    assert reading.crop.shape == (1, 48, 48)
    assert reading.evidence is not None
    assert float(reading.probabilities.sum()) == pytest.approx(1)


def test_detector_time_is_given_only_for_frames_that_called_a_detector(reader: Reader) -> None:
    latencies = [read.latency for read in read_demo(reader, 30)]
    detected = [latency.detect for latency in latencies]
    assert None in detected
    assert all(spent is None or spent > 0 for spent in detected)
    for latency in latencies:
        assert latency.find >= (latency.detect or 0)
        assert latency.total >= latency.classify + latency.find


def test_an_empty_picture_has_no_readings(reader: Reader) -> None:
    read = reader.read(Frame(np.zeros((120, 160, 3), np.uint8), 0, 0.0, 0.0))
    assert read.readings == ()


def test_a_photograph_is_read_at_once_and_every_time_as_a_new_face(detector: FaceDetector) -> None:
    reader = Reader(
        detector.detect, Classifier(load_artifact("ferplus-fp32")), ErrorBudget(), stills=True
    )
    portrait = load_portrait()
    tracks = []
    for index in range(2):
        (reading,) = reader.read(Frame(portrait, index, float(index), 0.0)).readings
        assert reading.top == "happiness"
        tracks.append(reading.track)
    assert len(set(tracks)) == 2


def test_a_calibration_on_own_faces_changes_confidence_and_the_confidence_needed(
    detector: FaceDetector, fp32: Artifact, own_calibration: SavedCalibration
) -> None:
    frame = Frame(load_portrait(), 0, 0.0, 0.0)
    classifier = Classifier(fp32)
    shipped = Reader(detector.detect, classifier, ErrorBudget(), stills=True)
    own = Reader(detector.detect, classifier, ErrorBudget(), stills=True, own=own_calibration)
    (before,), (after,) = shipped.read(frame).readings, own.read(frame).readings
    np.testing.assert_allclose(after.raw, own_calibration.apply(np.log(before.raw)), atol=1e-5)
    assert after.top == before.top
    assert after.confidence < before.confidence
    assert after.needed == pytest.approx(0.5)
    assert after.set_rule is None
    assert (shipped.calibration, own.calibration) == (None, "calibrated on 150 own faces")


def test_a_smaller_error_budget_needs_more_confidence(detector: FaceDetector) -> None:
    classifier = Classifier(load_artifact("ferplus-fp32"))
    needed = []
    for max_error in (0.5, 0.03):
        reader = Reader(detector.detect, classifier, ErrorBudget(max_error), stills=True)
        (reading,) = reader.read(Frame(load_portrait(), 0, 0.0, 0.0)).readings
        needed.append(reading.needed)
    assert needed[0] < needed[1]


def test_a_guarantee_calls_a_poor_crop_unsure(detector: FaceDetector) -> None:
    blurred = np.asarray(cv2.GaussianBlur(load_portrait(), (0, 0), 3), np.uint8)
    classifier = Classifier(load_artifact("ferplus-fp32"))
    verdicts = []
    for budget in (ErrorBudget(), ErrorBudget(overall=0.2)):
        reader = Reader(detector.detect, classifier, budget, stills=True)
        (reading,) = reader.read(Frame(blurred, 0, 0.0, 0.0)).readings
        assert reading.confidence > reading.needed
        verdicts.append((reading.verdict, reading.reason))
    assert verdicts == [("sure", None), ("unsure", "blurred")]


def test_only_a_model_that_saw_damaged_faces_is_believed_about_a_blurred_one(
    detector: FaceDetector,
) -> None:
    artifact = load_artifact("ferplus-fp32")
    undamaged = {**artifact.card.recipe, "damaged": 0.0}
    blurred = np.asarray(cv2.GaussianBlur(load_portrait(), (0, 0), 3), np.uint8)
    verdicts = []
    for card in (artifact.card, replace(artifact.card, recipe=undamaged)):
        classifier = Classifier(replace(artifact, card=card))
        reader = Reader(detector.detect, classifier, ErrorBudget(), stills=True)
        (reading,) = reader.read(Frame(blurred, 0, 0.0, 0.0)).readings
        assert reading.poor == "blurred"
        assert reading.confidence > reading.needed
        verdicts.append((reading.verdict, reading.reason))
    assert verdicts == [("sure", None), ("unsure", "blurred")]
