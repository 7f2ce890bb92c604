"""MediaPipe's startup messages are hidden, and nothing else."""

import os
from contextlib import suppress

import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.mediapipe_log import hide_startup_messages


def test_a_detector_starts_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    with FaceDetector():
        pass
    assert capfd.readouterr().err == ""


def test_other_messages_are_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with hide_startup_messages():
        os.write(2, b"INFO: Created TensorFlow Lite XNNPACK delegate for CPU.\n")
        os.write(2, b"the camera is on fire\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "the camera is on fire\n"


def test_words_before_an_error_are_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    with suppress(ValueError), hide_startup_messages():
        os.write(2, b"cannot open the model\n")
        raise ValueError
    assert capfd.readouterr().err == "cannot open the model\n"


def test_no_file_handle_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with hide_startup_messages():
            pass
    assert len(os.listdir("/proc/self/fd")) == before
