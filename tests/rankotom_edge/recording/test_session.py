"""Sessions that can be read again, however they ended."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from textwrap import dedent

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.faces.tracker import TrackedFace
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import read_expression
from rankotom_edge.recording.session import Recorder, describe_session, read_session, reread

STARTED = datetime(2026, 11, 16, 10, 42, 7, tzinfo=timezone.utc)
PORTRAIT = Path(__file__).parents[3] / "rankotom_edge" / "sources" / "eileen-collins.jpg"
# As the detector finds it.
FACE = Face((177, 83, 96, 96), (202.2, 104.7), (246.4, 109.8), (221.3, 128.1), (220, 149.3), 0.92)
GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier(load_artifact("ferplus-fp32"))


@pytest.fixture(scope="module")
def metadata(classifier: Classifier) -> dict[str, object]:
    options = {"max_error": 0.5}
    return describe_session("camera 0", classifier.artifact, STARTED, fps=15.0, options=options)


@pytest.fixture(scope="module")
def moments(classifier: Classifier) -> list[FrameReadings]:
    """Twelve frames in which the portrait moves to the right; in the fourth nobody is there."""
    portrait = cv2.imread(str(PORTRAIT))
    assert portrait is not None
    return [_moment(classifier, portrait, index, shift=5.0 * index) for index in range(12)]


def _moment(classifier: Classifier, portrait: Image, index: int, shift: float) -> FrameReadings:
    image = np.roll(portrait, int(shift), axis=1)
    points = (FACE.left_eye, FACE.right_eye, FACE.nose, FACE.mouth)
    moved = [(x + shift, y) for x, y in points]
    face = Face((FACE.box[0] + shift, *FACE.box[1:]), *moved, score=FACE.score)
    card = classifier.artifact.card
    seen = crop(image, face, card.crop.framing, card.crop.size, card.crop.channels)
    raw = classifier.classify(seen[np.newaxis]).probabilities[0].astype(np.float64)
    reading = read_expression(
        TrackedFace(1, face, detected=True),
        labels=card.labels,
        raw=raw,
        probabilities=raw,
        quality=GOOD,
        needed=0.5,
        crop=seen,
    )
    readings = () if index == 3 else (reading,)
    return FrameReadings(Frame(image, index, index / 15, 0.0), readings, Latency(None, 1.5, 12.25))


def record(
    folder: Path, metadata: dict[str, object], moments: list[FrameReadings], video: bool = False
) -> Path:
    with Recorder(folder, metadata, video) as recorder:
        for moment in moments:
            recorder.write(moment)
    return recorder.folder


def test_a_session_is_read_back_as_it_was_recorded(
    tmp_path: Path,
    metadata: dict[str, object],
    moments: list[FrameReadings],
    classifier: Classifier,
) -> None:
    session = read_session(record(tmp_path / "new" / "sessions", metadata, moments))
    assert list(session.lines()) == [json.loads(json.dumps(m.as_json())) for m in moments]
    assert [moment.as_json() for moment in session.moments()] == [m.as_json() for m in moments]
    assert session.complete
    assert session.model.labels == moments[0].readings[0].labels
    saved = session.metadata
    assert (saved["source"], saved["fps"], saved["size"]) == ("camera 0", 15.0, [512, 512])
    assert (saved["started"], saved["frames"]) == ("2026-11-16T10:42:07+00:00", 12)
    assert saved["options"] == {"max_error": 0.5}
    assert {"name", "sha256", "precision", "labels", "temperature"} <= saved["model"].keys()
    card = classifier.artifact.card
    assert session.model.crop == card.crop
    assert session.model.evaluation == card.evaluation


def test_without_video_no_picture_is_kept_and_the_replay_is_grey(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    folder = record(tmp_path, metadata, moments)
    assert sorted(path.name for path in folder.iterdir()) == ["metadata.json", "readings.jsonl"]
    shown = next(read_session(folder).moments()).frame.image
    assert shown.shape == (512, 512, 3)
    assert np.ptp(shown) == 0


def test_with_video_every_line_has_its_picture(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    session = read_session(record(tmp_path, metadata, moments, video=True))
    shown = list(session.moments())
    assert len(shown) == len(moments)
    for moment, recorded in zip(shown, moments, strict=True):
        assert moment.frame.index == recorded.frame.index
        assert np.abs(moment.frame.image.astype(int) - recorded.frame.image).mean() < 2.5


def test_other_programs_can_play_the_video(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    folder = record(tmp_path, metadata, moments, video=True)
    video = cv2.VideoCapture(str(folder / "video.mjpeg"), cv2.CAP_FFMPEG)
    assert sum(1 for _ in iter(lambda: video.read()[0], False)) == len(moments)


def test_a_session_is_for_its_owner_alone(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    folder = record(tmp_path, metadata, moments, video=True)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_each_recording_gets_a_folder_of_its_own_named_by_its_start(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    names = [record(tmp_path, metadata, moments[:count]).name for count in (1, 2, 3)]
    first = "session-2026-11-16T10-42-07"
    assert names == [first, f"{first}-2", f"{first}-3"]
    assert len(list(read_session(tmp_path / first).lines())) == 1


def test_a_folder_with_one_session_stands_for_it_and_one_with_several_names_them(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    only = record(tmp_path, metadata, moments)
    assert read_session(tmp_path).folder == only
    second = record(tmp_path, metadata, moments)
    with pytest.raises(RankotomError, match=f"holds 2 sessions; name one.*{second.name}"):
        read_session(tmp_path)


def test_a_recording_that_goes_on_can_be_read_and_is_not_called_complete(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    with Recorder(tmp_path, metadata) as recorder:
        assert list(read_session(tmp_path).moments()) == []
        recorder.write(moments[0])
        session = read_session(tmp_path)
        assert not session.complete
        assert session.size == (512, 512)
        assert len(list(session.moments())) == 1
    assert read_session(tmp_path).complete


WRITER = """
    import sys
    from pathlib import Path
    from rankotom_edge.recording.session import Recorder, read_session

    original = read_session(Path(sys.argv[1]))
    moments = list(original.moments())
    recorder = Recorder(Path(sys.argv[2]), original.metadata, video=True)
    for count in range(1, 10_000):
        recorder.write(moments[count % len(moments)])
        print(count, flush=True)
"""


def test_after_a_kill_every_frame_that_was_written_can_be_read(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    original = record(tmp_path / "original", metadata, moments, video=True)
    arguments = [sys.executable, "-c", dedent(WRITER), original, tmp_path / "killed"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if int(line) >= 40:
                break
        writer.send_signal(signal.SIGKILL)
        written = max([int(number) for number in writer.stdout.read().split()], default=40)
    assert writer.returncode == -signal.SIGKILL
    session = read_session(tmp_path / "killed")
    assert not session.complete
    shown = list(session.moments())
    assert len(shown) in (written, written + 1)
    last = moments[len(shown) % len(moments)]
    assert np.abs(shown[-1].frame.image.astype(int) - last.frame.image).mean() < 5


@pytest.mark.parametrize(("name", "kept"), [("readings.jsonl", 11), ("video.mjpeg", 11)])
def test_a_torn_end_is_passed_over(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings], name: str, kept: int
) -> None:
    folder = record(tmp_path, metadata, moments, video=True)
    with (folder / name).open("r+b") as file:
        file.truncate(os.path.getsize(folder / name) - 40)
    assert len(list(read_session(folder).moments())) == kept


def test_a_damaged_line_is_named(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    path = record(tmp_path, metadata, moments) / "readings.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    for broken in ("no JSON\n", '{"frame": 2}\n', "[]\n"):
        path.write_text("".join([*lines[:2], broken, *lines[3:]]))
        with pytest.raises(RankotomError, match=r"Line 3 of .*readings\.jsonl does not read"):
            list(read_session(tmp_path).moments())


def write_for_ever(recorder: Recorder, moments: list[FrameReadings]) -> None:
    for moment in itertools.cycle(moments):
        recorder.write(moment)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system of 400 KB can't be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("video", [True, False])
def test_a_full_disk_is_a_clear_error_and_what_was_written_stays(
    small_disk: Path, metadata: dict[str, object], moments: list[FrameReadings], video: bool
) -> None:
    handles = len(os.listdir("/proc/self/fd"))
    recorder = Recorder(small_disk, metadata, video)
    with pytest.raises(RankotomError, match=r"the disk is full\. The [\d,]+ frames before"):
        write_for_ever(recorder, moments)
    recorder.close()
    assert len(os.listdir("/proc/self/fd")) == handles
    session = read_session(small_disk)
    assert not session.complete
    assert len(list(session.moments())) == recorder.frames > 1
    left = {"metadata.json", "readings.jsonl"} | ({"video.mjpeg"} if video else set())
    assert {path.name for path in session.folder.iterdir()} == left


def test_a_disk_that_is_full_from_the_start_is_left_as_it_was(
    small_disk: Path, metadata: dict[str, object]
) -> None:
    filler = small_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(RankotomError, match=r"the disk is full\. Nothing was recorded"):
        Recorder(small_disk, metadata)
    assert list(small_disk.iterdir()) == [filler]


def test_a_place_that_cannot_be_written_is_said_at_once(
    tmp_path: Path, metadata: dict[str, object]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RankotomError, match=r"Cannot record into .*file: File exists"):
        Recorder(tmp_path / "file", metadata)
    with pytest.raises(RankotomError, match=r"Cannot record into .*: Not a directory"):
        Recorder(tmp_path / "file" / "inside", metadata)


def test_what_is_no_session_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"not a recorded session: there is no metadata\.json"):
        read_session(tmp_path)
    with pytest.raises(RankotomError, match="no such folder"):
        read_session(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "of format 2, and this version reads up to 1. Update"),
        ({"format": "new"}, "metadata.json does not read"),
        ({"model": {}}, "metadata.json does not read .*labels"),
        ({"size": 5}, "metadata.json does not read"),
        ({"video": True}, "has lost its video.mjpeg"),
    ],
)
def test_foreign_metadata_is_refused(
    tmp_path: Path, metadata: dict[str, object], change: dict[str, object], words: str
) -> None:
    path = record(tmp_path, metadata, []) / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RankotomError, match=words):
        read_session(tmp_path)


def test_an_earlier_session_that_has_the_framing_alone_is_read(
    tmp_path: Path, metadata: dict[str, object], classifier: Classifier
) -> None:
    path = record(tmp_path, metadata, []) / "metadata.json"
    saved = json.loads(path.read_text())
    del saved["model"]["size"], saved["model"]["channels"]
    path.write_text(json.dumps(saved))
    assert read_session(tmp_path).crop == classifier.artifact.card.crop


def test_a_session_without_its_readings_is_refused(
    tmp_path: Path, metadata: dict[str, object], moments: list[FrameReadings]
) -> None:
    (record(tmp_path, metadata, moments) / "readings.jsonl").unlink()
    with pytest.raises(RankotomError, match=r"has lost its readings\.jsonl"):
        read_session(tmp_path)


def test_the_same_model_reads_the_video_as_it_read_the_camera(
    tmp_path: Path,
    metadata: dict[str, object],
    moments: list[FrameReadings],
    classifier: Classifier,
) -> None:
    session = read_session(record(tmp_path, metadata, moments, video=True))
    labels, recorded, again = reread(session, classifier)
    assert labels == session.model.labels
    assert recorded.shape == again.shape == (11, len(labels))
    raw = [reading.raw for moment in moments for reading in moment.readings]
    np.testing.assert_allclose(recorded, raw, atol=1e-5)
    assert (recorded.argmax(axis=1) == again.argmax(axis=1)).mean() > 0.9
    assert np.abs(recorded - again).sum(axis=1).mean() / 2 < 0.02


def relabelled(artifact: Artifact, labels: tuple[str, ...]) -> Classifier:
    return Classifier(replace(artifact, card=replace(artifact.card, labels=labels)))


def test_labels_in_another_order_are_matched_by_name(
    tmp_path: Path,
    metadata: dict[str, object],
    moments: list[FrameReadings],
    classifier: Classifier,
) -> None:
    session = read_session(record(tmp_path, metadata, moments, video=True))
    straight = reread(session, classifier)
    turned = reread(session, relabelled(classifier.artifact, session.model.labels[::-1]))
    assert turned.labels == straight.labels
    np.testing.assert_allclose(turned.again, straight.again[:, ::-1])


def test_a_session_that_cannot_be_read_again_says_why(
    tmp_path: Path,
    metadata: dict[str, object],
    moments: list[FrameReadings],
    classifier: Classifier,
) -> None:
    silent = read_session(record(tmp_path / "silent", metadata, moments))
    with pytest.raises(RankotomError, match=r"has no video for another model.*--record-video"):
        reread(silent, classifier)
    filmed = read_session(record(tmp_path / "filmed", metadata, moments, video=True))
    others = ("boredom", *filmed.labels[1:])
    with pytest.raises(RankotomError, match=r"names boredom.*the same emotions"):
        reread(filmed, relabelled(classifier.artifact, others))
    empty = read_session(record(tmp_path / "empty", metadata, moments[3:4], video=True))
    with pytest.raises(RankotomError, match="no face in the session"):
        reread(empty, classifier)
