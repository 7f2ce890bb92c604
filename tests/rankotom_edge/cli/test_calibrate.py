"""The command from faces to the calibration that ``camera`` uses."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from calib.temperature import softmax
from rankotom_edge.cli.camera import expire_own, find_own
from rankotom_edge.labelling.gather import gather_from_folder
from rankotom_edge.labelling.label_file import Label, LabelFile, read_labels
from rankotom_edge.labelling.votes import LabelledModel
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.own_calibration import (
    SavedCalibration,
    calibration_files,
    calibrations_folder,
    find_calibration,
    labels_path,
    make_calibrations_folder,
    save_calibration,
)
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.sources.demo import demo_picture, load_portrait

DEMO = "demo: a still portrait"
NOON = datetime(2026, 11, 18, 12, tzinfo=timezone.utc)
MODEL = ("--model", "ferplus-fp32")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The portrait eighty times: moved, mirrored, darker and blurred."""
    folder, portrait = tmp_path_factory.mktemp("photos"), load_portrait()
    for number in range(80):
        picture = demo_picture(portrait, 1.3 * number, (480, 360))
        picture = picture[:, ::-1] if number % 2 else picture
        blurred = cv2.GaussianBlur(picture, (0, 0), 0.5 + 0.5 * (number % 7))
        darker = cv2.convertScaleAbs(blurred, alpha=1 - 0.09 * (number % 9))
        assert cv2.imwrite(str(folder / f"{number:02d}.png"), darker)
    return folder


def label_faces(
    photos: Path,
    artifact: Artifact,
    source: str,
    temperature: float,
    count: int = 1000,
    time: datetime = NOON,
) -> int:
    """Two raters who agree, where the model is right as softmax(logits / temperature)."""
    faces = gather_from_folder(photos, Classifier(artifact)).faces[:count]
    random, card = np.random.default_rng(0), artifact.card
    with LabelFile(labels_path(source, make_calibrations_folder())) as file:
        for face in faces:
            expression = str(random.choice(card.labels, p=softmax([face.logits / temperature])[0]))
            for rater in ("ada", "ben"):
                logits = tuple(float(each) for each in face.logits)
                about = (face.key, face.group, rater, expression, logits)
                file.append(Label(*about, card.name, artifact.sha256, time))
    return len(faces)


def confidences(output: str) -> list[float]:
    lines = [json.loads(line) for line in output.splitlines()]
    return [face["confidence"] for line in lines for face in line["faces"]]


def test_labels_that_show_too_much_confidence_make_camera_less_sure_until_forgotten(
    run: Callable[..., Any], photos: Path, fp32: Artifact, tmp_path: Path
) -> None:
    labelled = label_faces(photos, fp32, DEMO, temperature=4.0)
    assert labelled >= 60
    arguments = ("calibrate", str(photos), "--for", "demo", "--view", "none", *MODEL)
    camera = ("camera", "--source", "demo", "--frames", "12", "--view", "none", "--json", "-")

    for tried in (
        run(*arguments, "--dry-run"),
        run("calibrate", "--source", "demo", "--dry-run", *MODEL),  # only the labels are needed
    ):
        assert tried.returncode == 0
        assert "nothing was written (--dry-run)" in tried.stdout
    assert calibration_files() == []

    figure, document = tmp_path / "trial.png", tmp_path / "trial.json"
    done = run(*arguments, "--plot", str(figure), "--json", str(document))
    assert done.returncode == 0
    assert f"camera now uses this for {DEMO}" in done.stdout.replace("\n", " ")
    assert cv2.imread(str(figure)) is not None
    written = json.loads(document.read_text())
    assert written["faces"] == labelled
    assert written["raters"]["faces"] == labelled
    assert written["source"] == DEMO
    kept = find_calibration(fp32, DEMO)
    assert kept is not None
    assert kept.trial.calibration.temperature > 1.5

    with_it, without = run(*camera, *MODEL), run(*camera, *MODEL, "--no-calibration")
    assert f"note: calibrated on {labelled} own faces of {DEMO}" in with_it.stderr
    assert "own faces" not in without.stderr
    promised = run(*camera, *MODEL, "--max-error", "5%")
    assert promised.returncode == 2
    assert "--no-calibration" in promised.stderr
    assert run(*camera, *MODEL, "--max-error-each", "5%").returncode == 0
    assert confidences(with_it.stdout)[-1] < confidences(without.stdout)[-1] - 0.02
    # Another model of the same source is read as it was shipped.
    assert "own faces" not in run(*camera, "--model", "ferplus-int8").stderr

    listed = run("calibrate", "--list")
    assert DEMO in " ".join(listed.stdout.split())
    assert run("calibrate", "--forget", "demo", *MODEL).returncode == 0
    assert "own faces" not in run(*camera, *MODEL).stderr
    assert run("calibrate", "--forget", "demo", *MODEL).returncode == 2
    # The labels are still there, so the same command brings it back.
    assert run(*arguments).returncode == 0


def test_labels_that_show_no_gain_change_nothing_and_are_kept(
    run: Callable[..., Any], photos: Path, fp32: Artifact
) -> None:
    label_faces(photos, fp32, DEMO, temperature=1.0, count=20)
    done = run("calibrate", str(photos), "--for", "demo", "--view", "none", *MODEL)
    assert done.returncode == 1
    assert "nothing was changed" in done.stdout
    assert calibration_files() == []
    assert len(read_labels(labels_path(DEMO, calibrations_folder()))) == 40


def test_an_expired_calibration_is_left_out_and_camera_says_why(
    run: Callable[..., Any], photos: Path, fp32: Artifact
) -> None:
    label_faces(photos, fp32, DEMO, temperature=4.0)
    assert run("calibrate", str(photos), "--for", "demo", "--view", "none", *MODEL).returncode == 0
    (path,) = calibration_files()
    saved = json.loads(path.read_text())
    expired = {"expired": "light is low since 2026-11-18 10:42", "labels_since": NOON.isoformat()}
    path.write_text(json.dumps(saved | expired))
    done = run("camera", "--source", "demo", "--frames", "2", "--view", "none", *MODEL)
    assert "has expired, because light is low since 2026-11-18 10:42" in done.stderr
    assert "has expired: light is low" in " ".join(run("calibrate", "--list").stdout.split())
    # The labels are from before the drift: they must not bring it back.
    again = run("calibrate", str(photos), "--for", "demo", "--view", "none", *MODEL)
    assert again.returncode == 2
    assert "yet since the drift of" in again.stderr
    # Nor when a calibration on newer labels has taken its place.
    label_faces(photos, fp32, DEMO, temperature=4.0, time=NOON + timedelta(days=1))
    for _ in range(2):
        newer = run("calibrate", str(photos), "--for", "demo", "--view", "none", *MODEL)
        assert newer.returncode == 0
        kept = find_calibration(fp32, DEMO)
        assert kept is not None
        assert (kept.expired, kept.labels_since) == (None, NOON)


def test_a_drift_makes_the_calibration_expire_with_its_cause(
    fp32: Artifact, own_calibration: SavedCalibration
) -> None:
    save_calibration(own_calibration, fp32)
    drift = DriftStatus("drifted", 0.3, 80, "confidence has drifted", "light is low", NOON)
    expire_own(fp32, None, drift)  # without a calibration there is nothing to expire
    assert calibration_files()
    expire_own(fp32, own_calibration, drift)
    notes: list[str] = []
    assert find_own(fp32, "camera 0", notes) is None
    assert "has expired, because light is low since 2026-11-18 12:00" in notes[0]


def test_another_model_s_labels_are_left_out(
    run: Callable[..., Any], photos: Path, fp32: Artifact
) -> None:
    label_faces(photos, fp32, DEMO, temperature=1.0, count=5)
    done = run("calibrate", str(photos), "--for", "demo", "--view", "none")
    assert done.returncode == 2
    assert f"No face of {DEMO} has a label for ferplus-int8 yet" in done.stderr


def test_a_damaged_calibration_stops_the_camera_with_the_way_out(
    run: Callable[..., Any], photos: Path, fp32: Artifact
) -> None:
    label_faces(photos, fp32, DEMO, temperature=4.0)
    assert run("calibrate", str(photos), "--for", "demo", "--view", "none", *MODEL).returncode == 0
    (path,) = calibration_files()
    path.write_text("{")
    camera = ("camera", "--source", "demo", "--frames", "2", "--view", "none", *MODEL)
    done = run(*camera)
    assert done.returncode == 2
    assert "Remove it, and calibrate again" in done.stderr
    assert run(*camera, "--no-calibration").returncode == 0
    assert "Remove it" in run("calibrate", "--list").stdout
    assert run("calibrate", "--forget", "demo", *MODEL).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--view", "none"], "say how long to gather: --seconds"),  # from the first camera
        (["photos", "--device", "0"], "only one of them"),
        (["no-such-folder", "--view", "none"], "There is no folder no-such-folder"),
        (["photos", "--seconds", "3"], "--seconds is for --device and --source"),
        (["photos", "--view", "none", "--port", "80"], "--port is for --view web"),
        (["--source", "demo", "--view", "none"], "say how long to gather: --seconds"),
        (["photos", "--rater", "\x1b[31m"], "A rater's name has"),
        (["photos", "--for", "rtmp://bob:secret@cam/x", "--view", "none"], "not supported"),
        (["photos", "--for", "camera0", "--view", "none"], "There is no source"),
        (["photos", "--for", "0"], "There is no terminal here"),
        (["--source", "photos", "--view", "none"], "give their folder as FACES"),
        (["--forget", "7"], "There is no calibration of ferplus-int8 for camera 7"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(
    run: Callable[..., Any],
    photos: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(photos.parent)
    given = [str(photos) if each == "photos" else each for each in arguments]
    done = run("calibrate", *given)
    assert done.returncode == 2
    assert words in " ".join((done.stdout + done.stderr).replace("│", " ").split())


def test_faces_of_one_source_are_not_taken_for_another_s(
    run: Callable[..., Any], recordings: Path
) -> None:
    done = run("calibrate", str(recordings), "--for", "7", "--view", "none")
    assert done.returncode == 2
    assert "These faces are of camera 0" in done.stderr


def test_photos_must_say_which_camera_they_are_of(run: Callable[..., Any], photos: Path) -> None:
    done = run("calibrate", str(photos), "--view", "none")
    assert done.returncode == 2
    assert "--for 0" in done.stderr


def test_a_session_without_video_is_one_clear_line(
    run: Callable[..., Any], tmp_path: Path, frames: Any, record: Callable[..., Path]
) -> None:
    folder = record(tmp_path, frames[:3], video=False)
    done = run("calibrate", str(folder), "--view", "none")
    assert done.returncode == 2
    assert "--record-video" in done.stderr


def test_faces_of_a_running_source_are_labelled_in_the_terminal_and_kept_if_asked(
    open_tmux: Callable[[str, int, int], Any], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    command = (
        f"XDG_DATA_HOME={tmp_path} {sys.executable} -m rankotom_edge calibrate --source demo "
        f"--seconds 15 --rater ada --keep-faces {kept}"
    )
    terminal = open_tmux(command, 100, 30)
    terminal.wait_for("happiness", "ada")
    pictures = sorted(kept.glob("*.png"))
    assert pictures
    for _ in pictures:
        terminal.press("2")
        time.sleep(0.5)
    terminal.press("Enter")
    terminal.wait_for("nothing was changed")
    (labels,) = (tmp_path / "rankotom-edge" / "calibrations").glob("*.labels.jsonl")
    assert [label.expression for label in read_labels(labels)] == ["happiness"] * len(pictures)


def test_the_page_labels_and_the_command_goes_on(
    photos: Path, fp32: Artifact, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "rankotom_edge", "calibrate", str(photos), "--for", "demo"]
    command += [*MODEL, "--view", "web", "--port", "0", "--faces", "3", "--rater", "ada"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    try:
        line = next(each for each in started.stderr if each.startswith("Label here: "))
        page = line.removeprefix("Label here: ").strip()
        state = json.load(urllib.request.urlopen(f"{page}api/labelling"))
        for number in range(3):
            address = f"{page}api/labelling/{state['run']}/{number}/2"
            state = json.load(urllib.request.urlopen(urllib.request.Request(address, b"")))
        address = f"{page}api/labelling/{state['run']}/3/q"
        urllib.request.urlopen(urllib.request.Request(address, b"")).read()
        output, _ = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 1
    assert "nothing was changed" in output
    judged = LabelledModel(fp32.card.name, fp32.sha256, fp32.card.labels)
    labels = read_labels(labels_path(DEMO, calibrations_folder()))
    assert [label.expression for label in labels] == ["happiness"] * 3
    assert {label.model for label in labels} == {judged.name}
