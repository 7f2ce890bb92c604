"""The picture for browsers: the frame with its boxes as JPEG, as large as a reader's line takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from rankotom_edge.views.presenter import is_stale, shown_readings
from rankotom_edge.views.window.activation_map import draw_evidence
from rankotom_edge.views.window.canvas import fill, outline, write
from rankotom_edge.views.window.layout import LINES, Sheet
from rankotom_edge.views.window.panel_placement import Rect
from rankotom_edge.views.window.panels import GROUND, Measures, reading_colour
from rankotom_edge.views.window.text import line_height, text_width

if TYPE_CHECKING:
    from rankotom_edge.faces.crop import Framing
    from rankotom_edge.frame import Image
    from rankotom_edge.readings.reading import Reading
    from rankotom_edge.views.web.relay import Shown


@dataclass(frozen=True)
class Look:
    width: int  # at most
    quality: int  # JPEG's


# Of a camera of 1280 x 960: 80, 34, 18 and 9 KB (the demo portrait).
LOOKS = (Look(960, 85), Look(640, 75), Look(480, 60), Look(320, 45))
# A picture that took longer to leave than this holds up the next: smaller ones from now on.
SLOW, QUICK = 0.25, 0.05  # seconds
CALM = 60  # pictures in a row that left quickly, before a larger one is tried again


@dataclass(frozen=True)
class Pace:
    """What one reader's line takes."""

    level: int = 0
    calm: int = 0

    @property
    def look(self) -> Look:
        return LOOKS[self.level]

    def after(self, seconds: float) -> Pace:
        """``seconds`` that the last picture took to leave. It needs no rate: a reader is given
        the next picture when the last has left."""
        if seconds > SLOW:
            return Pace(min(self.level + 1, len(LOOKS) - 1))
        if seconds > QUICK:
            return Pace(self.level)
        if self.calm + 1 < CALM or self.level == 0:
            return Pace(self.level, self.calm + 1)
        return Pace(self.level - 1)


class Pictures:
    """Each picture is made once, however many look at it, and only while somebody does."""

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self._key: object = None
        self._made: dict[Look, bytes] = {}

    def jpeg(self, shown: Shown, look: Look) -> bytes | None:
        """None before the first frame."""
        if shown.display.latest is None:
            return None
        key = picture_key(shown)
        if key != self._key:
            self._key, self._made = key, {}
        if look not in self._made:
            self._made[look] = encode(draw_picture(shown, look, self._framing), look.quality)
        return self._made[look]


def picture_key(shown: Shown) -> object:
    """What the picture depends on: the same key, the same picture."""
    controls = shown.display.controls
    return shown.came, controls.evidence, controls.smoothed, is_stale(shown.display)


def draw_picture(shown: Shown, look: Look, framing: Framing) -> Image:
    """The frame with a box around each face; none where the picture is no longer live."""
    latest = shown.display.latest
    assert latest is not None
    frame = latest.frame.image
    high, wide = frame.shape[:2]
    zoom = min(1.0, look.width / wide)
    width, height = max(1, round(wide * zoom)), max(1, round(high * zoom))
    image = np.array(frame)
    if zoom < 1:
        resized = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
        image = np.asarray(resized, np.uint8)
    sheet = _sheet(width, height, zoom)
    readings = shown_readings(shown.display)
    for reading in readings:
        if shown.display.controls.evidence:
            draw_evidence(image, reading, framing, sheet)
        _box(image, reading, sheet, numbered=len(readings) > 1)
    return image


def _sheet(width: int, height: int, zoom: float) -> Sheet:
    picture = Rect(0, 0, width, height)
    measures = Measures(max(1.0, min(width * 3 / 4, height) / LINES))
    foot = Rect(0, height, width, 0)
    return Sheet(width, height, picture, picture, None, foot, zoom, measures)


def _box(image: Image, reading: Reading, sheet: Sheet, numbered: bool) -> None:
    measures, box, colour = sheet.measures, sheet.face_rect(reading.face), reading_colour(reading)
    radius = min(measures.px(12), 0.15 * min(box.width, box.height))
    outline(image, box, radius, colour, measures.px(2), GROUND)
    if numbered:
        name, size = str(reading.track), measures.title
        width = text_width(name, size, bold=True) + measures.px(10)
        badge = Rect(box.x, box.y, width, line_height(size) + measures.px(2))
        fill(image, badge, colour, measures.px(4))
        write(image, name, (badge.x + measures.px(5), badge.y), size, GROUND, bold=True)


def encode(image: Image, quality: int) -> bytes:
    return bytes(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1])
