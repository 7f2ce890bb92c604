"""Pictures of a size that the client keeps up with, made once for all clients."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.drawing.tag import tag_height
from rankotom_edge.views.web import pictures
from rankotom_edge.views.web.pictures import (
    FORMATS,
    PHONE,
    QUICK_IN_A_ROW,
    FormatChoice,
    PictureCache,
    draw_picture,
)
from rankotom_edge.views.web.relay import Update


def shown(
    showing: Any,
    *readings: Any,
    number: int = 1,
    latest: FrameReadings | None = None,
    controls: Controls | None = None,
    **status: Any,
) -> Update:
    display = showing.display(latest or showing.frame_readings(*readings), controls, **status)
    return Update(number, display, 1.0, float(number))


def test_a_slow_line_gets_smaller_pictures_down_to_the_smallest() -> None:
    choice = FormatChoice()
    for level in (1, 2, 3, 3):
        choice = choice.after(1.0)
        assert choice.level == level


def test_a_line_that_has_recovered_gets_larger_pictures_again() -> None:
    choice = FormatChoice(level=2)
    for _ in range(QUICK_IN_A_ROW):
        choice = choice.after(0.0)
    assert choice.level == 1
    for _ in range(QUICK_IN_A_ROW - 1):
        choice = choice.after(0.0)
    assert choice.after(0.1).level == 1  # one that was not quick restarts the count
    assert choice.after(0.0).level == 0


def test_each_format_is_smaller_than_the_one_before(showing: Any) -> None:
    large = replace(
        showing.frame_readings(), frame=replace(showing.frame_readings().frame, image=_photograph())
    )
    made = PictureCache(FERPLUS_FRAMING)
    sizes = [len(made.jpeg(shown(showing, latest=large), wanted) or b"") for wanted in FORMATS]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 4


def test_one_picture_does_for_all_clients(showing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []

    def counting(image: Any, quality: int) -> bytes:
        encoded.append(quality)
        return b"jpeg"

    monkeypatch.setattr(pictures, "encode_jpeg", counting)
    made = PictureCache(FERPLUS_FRAMING)
    for _ in range(5):
        made.jpeg(shown(showing), FORMATS[0])
        made.jpeg(shown(showing), FORMATS[3])
    assert encoded == [FORMATS[0].jpeg_quality, FORMATS[3].jpeg_quality]
    made.jpeg(shown(showing, number=2), FORMATS[0])
    assert len(encoded) == 3


def test_each_face_has_a_box_where_it_is_and_the_frame_is_left_alone(showing: Any) -> None:
    with_face = shown(showing, showing.reading(happiness=0.9))
    latest = with_face.display.latest
    assert latest is not None
    before = latest.frame.image.copy()
    for wanted in (FORMATS[1], FORMATS[3]):
        plain = draw_picture(shown(showing), wanted.max_width, FERPLUS_FRAMING)
        drawn = draw_picture(with_face, wanted.max_width, FERPLUS_FRAMING)
        changed = np.argwhere((drawn != plain).any(axis=2)) * (640 / wanted.max_width)
        assert changed.min(axis=0) == pytest.approx((120, 200), abs=8)
        assert changed.max(axis=0) == pytest.approx((241, 321), abs=8)
    assert (latest.frame.image == before).all()


@pytest.mark.parametrize(("side", "at_least"), [(150, 12), (60, 8)])
def test_a_number_can_be_read_on_a_phone_and_leaves_the_face_free(
    showing: Any, monkeypatch: pytest.MonkeyPatch, side: int, at_least: int
) -> None:
    drawn: list[int] = []

    def note(image: Any, corner: tuple[float, float], *given: Any) -> None:
        drawn.append(given[-1].text)
        assert corner[1] + tag_height(given[-1]) <= 50 * image.shape[1] / 640 + 1e-6

    monkeypatch.setattr(pictures, "draw_tag", note)
    faces = [showing.reading(track, happiness=0.9) for track in (1, 2)]
    faces = [replace(it, face=replace(it.face, box=(50, 50, side, side))) for it in faces]
    for wanted in FORMATS:
        drawn.clear()
        picture = draw_picture(shown(showing, *faces), wanted.max_width, FERPLUS_FRAMING)
        on_the_phone = PHONE / picture.shape[1]
        assert all(round(letters * on_the_phone) >= at_least for letters in drawn)
        assert all(letters <= side * picture.shape[1] / 640 / 3 for letters in drawn)
        assert len(drawn) == 2


def test_a_picture_that_is_no_longer_live_has_no_boxes(showing: Any) -> None:
    lost = shown(showing, showing.reading(happiness=0.9), state=State("lost", "lost: again soon"))
    drawn = draw_picture(lost, FORMATS[1].max_width, FERPLUS_FRAMING)
    assert (drawn == draw_picture(shown(showing), FORMATS[1].max_width, FERPLUS_FRAMING)).all()


def test_the_evidence_is_laid_on_the_face(showing: Any) -> None:
    reading = replace(showing.reading(happiness=0.9), evidence=np.ones((8, 3, 3), np.float32))
    plain = shown(showing, reading)
    lit = shown(showing, reading, controls=Controls(evidence=True))
    drawn = draw_picture(lit, FORMATS[1].max_width, FERPLUS_FRAMING)
    middle = slice(170, 200), slice(245, 275)
    without = draw_picture(plain, FORMATS[1].max_width, FERPLUS_FRAMING)
    assert np.abs(drawn[middle].astype(int) - without[middle]).mean() > 20


def _photograph() -> np.ndarray:
    noise = np.random.default_rng(0).integers(0, 256, (60, 120, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(noise, (1280, 720)), np.uint8)
