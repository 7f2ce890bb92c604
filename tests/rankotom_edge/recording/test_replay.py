"""The keys in the replay of a session, with real sessions and the picture a person would see."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.cli import replay as command
from rankotom_edge.cli.view_options import ViewOptions
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.faces.tracker import TrackedFace
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import read_expression
from rankotom_edge.recording.recorder import Recorder, describe_session
from rankotom_edge.recording.replay import LONGEST_GAP, SessionClip
from rankotom_edge.recording.session import READINGS, read_session
from rankotom_edge.sources.playback_source import PlaybackSource
from rankotom_edge.views.display import Display

CARD = load_artifact("ferplus-fp32").card
CONTRACT = CARD.crop
PORTRAIT = Path(__file__).parents[3] / "rankotom_edge" / "sources" / "eileen-collins.jpg"
FACE = Face((177, 83, 96, 96), (202.2, 104.7), (246.4, 109.8), (221.3, 128.1), (220, 149.3), 0.92)
GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)


def seen_live() -> Image:
    """The face as the network saw it, before a JPEG came between."""
    portrait = cv2.imread(str(PORTRAIT))
    assert portrait is not None
    return crop(portrait, FACE, CONTRACT.framing, CONTRACT.size, CONTRACT.channels)


def a_session(
    folder: Path,
    video: bool,
    times: tuple[float, ...] = tuple(index / 30 for index in range(6)),
    photographs: bool = False,
) -> Path:
    portrait = cv2.imread(str(PORTRAIT))
    assert portrait is not None
    shares = np.full(len(CARD.labels), 1 / len(CARD.labels))
    reading = read_expression(
        TrackedFace(1, FACE, detected=True),
        labels=CARD.labels,
        raw=shares,
        probabilities=shares,
        quality=GOOD,
        needed=0.0,
    )
    started = datetime(2026, 11, 16, tzinfo=timezone.utc)
    metadata = describe_session(
        "camera 0", load_artifact("ferplus-fp32"), started, fps=30.0, photographs=photographs
    )
    with Recorder(folder, metadata, video) as recorder:
        for index, time in enumerate(times):
            frame = Frame(portrait, index, time, 0.0)
            recorder.write(FrameReadings(frame, (reading,), Latency(1.0, 1.0, 2.0)))
    return recorder.folder


class Person:
    """Presses keys, one after each frame, and keeps what is shown."""

    closed = False
    shows_faces = True
    interactive = True

    def __init__(self, *keys: str) -> None:
        self._keys = list(keys)
        self._pressed = True
        self.shown: list[Display] = []

    def show(self, display: Display) -> None:
        self.shown.append(display)
        self._pressed = False

    def key(self) -> str | None:
        if self._pressed or not self._keys:
            return None
        self._pressed = True
        return self._keys.pop(0)

    @property
    def crops(self) -> list[Image | None]:
        return [shown.latest.readings[0].crop for shown in self.shown if shown.latest is not None]

    @property
    def notices(self) -> list[str | None]:
        return [display.status.notice for display in self.shown]


@pytest.fixture
def replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Person]:
    """The command itself, in front of a person; its snapshots are in the test's folder."""
    monkeypatch.chdir(tmp_path)

    def replay(*keys: str, video: bool = True) -> Person:
        person = Person(*keys)
        monkeypatch.setattr(command, "open_view", lambda *options: nullcontext(person))
        session = a_session(tmp_path / "sessions", video)
        command.replay(session=session, fast=True, view=ViewOptions("terminal"))
        return person

    return replay


def test_v_shows_the_face_as_the_network_saw_it(replayed: Callable[..., Person]) -> None:
    person = replayed("v")
    assert [shown.controls.crop for shown in person.shown[:2]] == [False, True]
    for again in person.crops:
        assert again is not None
        assert again.shape == (1, 48, 48)
        assert np.abs(again.astype(int) - seen_live()).mean() < 3


def test_v_works_while_the_replay_is_paused(replayed: Callable[..., Person]) -> None:
    person = replayed("space", "v", "q")
    paused = [shown.latest for shown in person.shown if shown.latest and shown.controls.crop]
    assert paused
    assert all(shown.frame.index == 0 for shown in paused)
    assert paused[0].readings[0].crop is not None


def test_a_snapshot_has_the_face_too(replayed: Callable[..., Person], tmp_path: Path) -> None:
    replayed("v", "s")
    (path,) = tmp_path.glob("snapshot-*.png")
    picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    assert picture is not None
    beside = picture[:, 512 * picture.shape[0] // 539 :]
    sizes = [cv2.resize(seen_live()[0], (side, side)) for side in range(80, 120)]
    found = [cv2.matchTemplate(beside, face, cv2.TM_CCOEFF_NORMED).max() for face in sizes]
    assert max(found) > 0.9


@pytest.mark.parametrize("key", ["c", "r", "v"])
def test_a_key_for_what_was_not_recorded_says_so_on_screen(
    replayed: Callable[..., Person], key: str
) -> None:
    person = replayed(key, video=False)
    assert person.notices[0] is None
    assert "record" in (person.notices[1] or "")
    first, last = person.shown[0], person.shown[-1]
    assert last.controls == first.controls  # no switch that has nothing to show


def test_the_keys_in_the_help_are_those_that_work(replayed: Callable[..., Person]) -> None:
    with_video, without = replayed("h"), replayed("h", video=False)
    keys = with_video.shown[-1].controls.keys
    assert "v" in keys
    assert not {"c", "r"} & keys.keys()
    assert not {"c", "r", "v"} & without.shown[-1].controls.keys.keys()


def test_a_night_without_a_camera_is_not_waited_for(tmp_path: Path) -> None:
    night = 8 * 3600.0
    clip = SessionClip(
        read_session(a_session(tmp_path, video=False, times=(0.0, night, night + 1)))
    )
    assert [image.time for image in clip.images()] == [0, LONGEST_GAP, LONGEST_GAP + 1]
    assert [shown.frame.time for shown in clip.readings] == [0, night, night + 1]


@pytest.mark.parametrize("photographs", [False, True])
def test_a_recorded_photograph_stands_alone_as_it_did(tmp_path: Path, photographs: bool) -> None:
    session = a_session(tmp_path, video=True, times=(0.0,), photographs=photographs)
    assert SessionClip(read_session(session)).photographs is photographs


def test_a_face_at_an_impossible_place_is_called_damage(tmp_path: Path) -> None:
    folder = a_session(tmp_path, video=True)
    readings = folder / READINGS
    readings.write_text(readings.read_text().replace("220,149.3", "1e300,149.3"))
    with pytest.raises(RankotomError, match=r"Line 1 of .*readings\.jsonl .* damaged"):
        PlaybackSource(SessionClip(read_session(folder)), paced=False)
