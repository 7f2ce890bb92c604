"""Pictures as large as a reader's line takes, made once for all readers."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.web import pictures
from rankotom_edge.views.web.pictures import CALM, LOOKS, Pace, Pictures, draw_picture
from rankotom_edge.views.web.relay import Shown


def shown(
    showing: Any,
    *readings: Any,
    number: int = 1,
    latest: FrameReadings | None = None,
    controls: Controls | None = None,
    **status: Any,
) -> Shown:
    display = showing.display(latest or showing.moment(*readings), controls, **status)
    return Shown(number, display, 1.0, float(number))


def test_a_slow_line_gets_smaller_pictures_down_to_the_smallest() -> None:
    pace = Pace()
    for level in (1, 2, 3, 3):
        pace = pace.after(1.0)
        assert pace.level == level


def test_a_line_that_has_recovered_gets_larger_pictures_again() -> None:
    pace = Pace(level=2)
    for _ in range(CALM):
        pace = pace.after(0.0)
    assert pace.level == 1
    for _ in range(CALM - 1):
        pace = pace.after(0.0)
    assert pace.after(0.1).level == 1  # one that was not quick begins the count anew
    assert pace.after(0.0).level == 0


def test_each_look_is_smaller_than_the_one_before(showing: Any) -> None:
    large = replace(showing.moment(), frame=replace(showing.moment().frame, image=_photograph()))
    made = Pictures(FERPLUS_FRAMING)
    sizes = [len(made.jpeg(shown(showing, latest=large), look) or b"") for look in LOOKS]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 4


def test_one_picture_does_for_all_readers(showing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []

    def counting(image: Any, quality: int) -> bytes:
        encoded.append(quality)
        return b"jpeg"

    monkeypatch.setattr(pictures, "encode", counting)
    made = Pictures(FERPLUS_FRAMING)
    for _ in range(5):
        made.jpeg(shown(showing), LOOKS[0])
        made.jpeg(shown(showing), LOOKS[3])
    assert encoded == [LOOKS[0].quality, LOOKS[3].quality]
    made.jpeg(shown(showing, number=2), LOOKS[0])
    assert len(encoded) == 3


def test_each_face_has_a_box_where_it_is_and_the_frame_is_left_alone(showing: Any) -> None:
    with_face = shown(showing, showing.reading(happiness=0.9))
    latest = with_face.display.latest
    assert latest is not None
    before = latest.frame.image.copy()
    for look in (LOOKS[1], LOOKS[3]):
        plain = draw_picture(shown(showing), look, FERPLUS_FRAMING)
        drawn = draw_picture(with_face, look, FERPLUS_FRAMING)
        changed = np.argwhere((drawn != plain).any(axis=2)) * (640 / look.width)
        assert changed.min(axis=0) == pytest.approx((120, 200), abs=8)
        assert changed.max(axis=0) == pytest.approx((241, 321), abs=8)
    assert (latest.frame.image == before).all()


def test_a_picture_that_is_no_longer_live_has_no_boxes(showing: Any) -> None:
    lost = shown(showing, showing.reading(happiness=0.9), state=State("lost", "lost: again soon"))
    drawn = draw_picture(lost, LOOKS[1], FERPLUS_FRAMING)
    assert (drawn == draw_picture(shown(showing), LOOKS[1], FERPLUS_FRAMING)).all()


def test_the_evidence_is_laid_on_the_face(showing: Any) -> None:
    reading = replace(showing.reading(happiness=0.9), evidence=np.ones((8, 3, 3), np.float32))
    plain = shown(showing, reading)
    lit = shown(showing, reading, controls=Controls(evidence=True))
    drawn = draw_picture(lit, LOOKS[1], FERPLUS_FRAMING)
    middle = slice(170, 200), slice(245, 275)
    without = draw_picture(plain, LOOKS[1], FERPLUS_FRAMING)
    assert np.abs(drawn[middle].astype(int) - without[middle]).mean() > 20


def _photograph() -> np.ndarray:
    noise = np.random.default_rng(0).integers(0, 256, (60, 120, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(noise, (1280, 720)), np.uint8)
