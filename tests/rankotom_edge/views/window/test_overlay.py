"""The window's picture, checked by its pixels and its words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankotom_edge.frame import Frame
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.drawing import canvas
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.history import Moment
from rankotom_edge.views.palette import CARD, EMOTION_HEX, WARNING_HEX, bgr
from rankotom_edge.views.window import stage
from rankotom_edge.views.window.layout import divide_window
from rankotom_edge.views.window.overlay import Overlay


def test_the_frame_is_not_touched(window: Any) -> None:
    shown = window.frame_readings(window.HAPPY)
    before = shown.frame.image.copy()
    window.drawn(shown, controls=Controls(evidence=True, crop=True, reliability=True, help=True))
    assert np.array_equal(shown.frame.image, before)


@pytest.mark.parametrize("size", [(640, 480), (1920, 1080)], ids=["480", "1080"])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_nothing_is_drawn_over_a_face(window: Any, count: int, size: tuple[int, int]) -> None:
    width, height = size
    side = height * (0.15 if count == 8 else 0.22)
    faces = [
        window.face_in(width * (0.06 + 0.24 * (n % 4)), height * (0.12 + 0.5 * (n // 4)), side)
        for n in range(count)
    ]
    shown = window.frame_readings(
        *(window.reading(window.shares(happiness=0.6), face, n) for n, face in enumerate(faces, 1)),
        size=size,
    )
    room = divide_window(size, None, status_lines=1)
    everything = Controls(help=True, crop=True, reliability=True)
    for controls in (Controls(), everything):
        image = window.drawn(shown, controls=controls, room=(room.width, room.height))
        bare = window.drawn(replace(shown, readings=()), room=(room.width, room.height))
        for face in faces:
            x, y, wide, high = room.picture.face_rect(face).grow(-4 * room.sizes.px(1)).pixels
            inner = (slice(y, y + high), slice(x, x + wide))
            assert np.array_equal(image[inner], bare[inner])


def test_every_face_is_numbered_like_its_card(window: Any, texts: list[str]) -> None:
    people = [
        window.reading(window.shares(happiness=0.6), window.face_in(140 * n, 200, 60), n)
        for n in (3, 1, 2)
    ]
    window.drawn(window.frame_readings(*people), room=(1280, 800))
    captions = [text for text in texts if text.endswith("happiness 60 %")]
    assert captions == [f"{n} happiness 60 %" for n in (1, 2, 3)]
    assert [text for text in texts if text in ("1", "2", "3")] == ["1", "2", "3"]


def test_one_person_gets_the_stage(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The word can be read across a room: a letter is a tenth of the window high."""
    heights: dict[str, int] = {}
    draw = stage.draw_text

    def noting(image: Any, text: str, at: Any, size: int, *rest: Any, **options: Any) -> int:
        heights[text] = size
        return draw(image, text, at, size, *rest, **options)

    monkeypatch.setattr(stage, "draw_text", noting)
    image = window.drawn(window.frame_readings(window.HAPPY), room=(1280, 800))
    assert heights["happiness"] == heights["83 %"] > image.shape[0] / 20
    assert any("times in 100" in text for text in heights)
    assert "the last minute" in heights


def test_the_last_minute_is_a_strip_in_the_headlines_colours_hatched_where_unsure() -> None:
    labels = ("happiness", "sadness")
    happy, both = Moment((0,), unsure=False), Moment((0, 1), unsure=False)
    image = np.zeros((20, 40, 3), np.uint8)
    lane = (None, happy, both, Moment((1,), unsure=True))
    stage.draw_strip(image, Rect(0, 0, 40, 20), lane, labels)
    yellow, blue = bgr(EMOTION_HEX["happiness"]), bgr(EMOTION_HEX["sadness"])
    assert np.all(image[:, :10] == CARD)
    assert np.all(image[:, 10:20] == yellow)
    assert np.all(image[:10, 20:30] == yellow)
    assert np.all(image[10:, 20:30] == blue)
    hatched = image[:, 30:].reshape(-1, 3)
    assert len(np.unique(hatched, axis=0)) == 2
    assert not np.all(hatched == blue, axis=1).any()


@pytest.mark.parametrize(
    ("at", "corner"),
    [
        ((-60, -60), (slice(0, 60), slice(0, 60))),
        ((600, 450), (slice(440, 480), slice(590, 640))),
    ],
)
def test_a_face_at_the_border_has_its_box(
    window: Any, at: tuple[float, float], corner: tuple[slice, slice]
) -> None:
    face = window.face_in(*at, 110)
    nobody = window.drawn(replace(window.frame_readings(window.HAPPY), readings=()))
    somebody = window.drawn(
        window.frame_readings(window.reading(window.shares(happiness=0.83), face)),
        controls=Controls(evidence=True),
    )
    assert nobody.shape == somebody.shape
    assert (nobody[corner] != somebody[corner]).any()


def test_a_face_beyond_the_border_is_no_error(window: Any) -> None:
    shown = window.frame_readings(
        window.reading(window.shares(happiness=0.83), window.face_in(900, 900, 50))
    )
    window.drawn(shown, controls=Controls(evidence=True))


def test_a_lost_source_is_dimmed_said_plainly_and_shows_no_stale_reading(
    window: Any, words: Callable[..., str]
) -> None:
    lost = replace(window.PLAYING, state=State("lost", "lost: opening it again in 4 s"), fps=None)
    said = words(window.frame_readings(window.HAPPY), lost)
    assert said.count("camera 0, lost: opening it again in 4 s") == 2  # in the middle, in the line
    assert "happiness" not in said
    image = window.drawn(window.frame_readings(window.HAPPY), lost)
    assert window.pixels_of(image, WARNING_HEX) > 100
    assert image[:100, :640].mean() < 0.6 * window.frame_readings().frame.image[:100].mean()


@pytest.mark.parametrize("lines", [200, 480, 700, 1080])
def test_a_smaller_picture_leaves_no_line_out(window: Any, lines: int) -> None:
    """One line in four is white: in an even picture of any size, a quarter of the light is left."""
    shown = window.frame_readings(size=(1920, 1080))
    shown.frame.image[:] = 0
    shown.frame.image[::4] = 255
    image = window.drawn(shown, room=(round(lines * 16 / 9), lines))
    layout = divide_window((1920, 1080), image.shape[1::-1], status_lines=1)
    x, y, width, height = layout.picture.rect.pixels
    rows = image[y : y + height, x + width // 3].mean(axis=1)
    assert rows.mean() == pytest.approx(255 / 4, rel=0.1)
    assert rows.reshape(-1)[: height // 8 * 8].reshape(8, -1).mean(axis=1).std() < 12


@pytest.mark.parametrize("room", [(640, 480), (1280, 720), (800, 900), (1919, 1079)])
def test_the_picture_fills_the_window_exactly(window: Any, room: tuple[int, int]) -> None:
    image = window.drawn(window.frame_readings(window.HAPPY), room=room)
    assert image.shape == (room[1], room[0], 3)


def test_a_window_too_small_for_letters_gets_a_larger_picture_of_its_shape(window: Any) -> None:
    image = window.drawn(window.frame_readings(window.HAPPY), room=(320, 240))
    assert image.shape[1] / image.shape[0] == pytest.approx(320 / 240, abs=0.01)
    assert image.shape[0] >= 480


def test_a_small_frame_is_enlarged_until_letters_can_be_read(window: Any) -> None:
    small = window.frame_readings(
        window.reading(window.shares(happiness=0.83), window.face_in(40, 40, 60)), size=(320, 180)
    )
    image = window.drawn(small)
    assert image.shape[1] >= 640


@pytest.mark.parametrize("pressed", ["", "help", "crop", "reliability", "paused"])
@pytest.mark.parametrize("count", [0, 1, 2, 8, 18])
def test_at_640x480_no_letter_has_less_than_12_pixels(
    window: Any, monkeypatch: pytest.MonkeyPatch, count: int, pressed: str
) -> None:
    sizes: list[int] = []
    draw = canvas._coloured_text

    def noting(text: str, size: int, *rest: Any) -> Any:
        sizes.append(size)
        return draw(text, size, *rest)

    monkeypatch.setattr(canvas, "_coloured_text", noting)
    shares = [{"neutral": 0.6, "contempt": 0.3}, {"happiness": 0.5, "surprise": 0.4}]
    people = [
        window.reading(window.shares(**shares[n % 2]), window.face_in(30 * n, 20 * n, 50), n)
        for n in range(count)
    ]
    controls = Controls(**({pressed: True} if pressed else {}))
    image = window.drawn(window.frame_readings(*people), controls=controls, room=(640, 480))
    assert image.shape == (480, 640, 3)  # not shrunk afterwards
    assert min(sizes) >= 12


@pytest.mark.parametrize("shape", [(1, 640, 3), (3000, 1, 3), (1, 1, 3)])
def test_a_stripe_of_a_picture_is_drawn_within_reason(
    window: Any, shape: tuple[int, int, int]
) -> None:
    card = load_artifact("ferplus-fp32").card
    latest = FrameReadings(
        Frame(np.zeros(shape, np.uint8), 0, 0.0, 0.0), (), Latency(1.0, 0.0, 2.0)
    )
    status = Status("stripe", State("playing", ""), 30.0, 9.0, 0, "ferplus-fp32", "fp32")
    for room in (None, (640, 480)):
        picture = Overlay(card).draw(Display(latest, status, Controls()), room)
        assert picture.size < 60e6


def test_drawing_is_quick_enough_for_a_camera(window: Any) -> None:
    """Ten times what one busy core needed: 2 ms and 5 ms."""
    for size, most_ms in (((640, 480), 30), ((1920, 1080), 80)):
        overlay, shown = Overlay(window.MODEL), window.frame_readings(window.HAPPY, size=size)
        overlay.draw(window.playing(shown))
        started = time.thread_time()
        for _ in range(5):
            overlay.draw(window.playing(shown))
        assert (time.thread_time() - started) / 5 * 1000 < most_ms
