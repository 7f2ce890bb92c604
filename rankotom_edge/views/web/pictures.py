"""The picture for browsers: the frame with a box per face, as JPEG, at a size the client keeps up
with."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from rankotom_edge.faces.crop import Framing
from rankotom_edge.frame import Image
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.drawing.activation_map import draw_evidence
from rankotom_edge.views.drawing.canvas import draw_outline
from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.tag import draw_tag, tag_height
from rankotom_edge.views.palette import GROUND, headline_colour
from rankotom_edge.views.presenter import is_stale, shown_readings
from rankotom_edge.views.web.relay import Update


@dataclass(frozen=True)
class PictureFormat:
    max_width: int
    jpeg_quality: int


# On a phone of this width the letters of a number are 12 pixels high; at most a fourth of the box.
PHONE, NUMBER_SHARE = 390, 48
# From about 80 KB down to 9 KB for the demo portrait. Chosen by eye, like the numbers below.
FORMATS = tuple(PictureFormat(*each) for each in ((960, 85), (640, 75), (480, 60), (320, 45)))
# Seconds that sending a picture took. A slow client gets a smaller format.
SLOW, QUICK = 0.25, 0.05
QUICK_IN_A_ROW = 60  # pictures before a larger format is tried again


@dataclass(frozen=True)
class FormatChoice:
    """Adapts the format to what one client's connection can take.

    The picture rate needs no choice: a client gets the next picture when the last one is sent.
    """

    level: int = 0
    quick: int = 0  # pictures in a row that were sent quickly

    @property
    def format(self) -> PictureFormat:
        return FORMATS[self.level]

    def after(self, seconds: float) -> FormatChoice:
        """``seconds``: how long it took to send the last picture."""
        if seconds > SLOW:
            return FormatChoice(min(self.level + 1, len(FORMATS) - 1))
        if seconds > QUICK:
            return FormatChoice(self.level)
        if self.quick + 1 < QUICK_IN_A_ROW or self.level == 0:
            return FormatChoice(self.level, self.quick + 1)
        return FormatChoice(self.level - 1)


class PictureCache:
    """Draws each picture once for all clients, and only if there is one."""

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self._key: object = None
        self._jpegs: dict[PictureFormat, bytes] = {}

    def jpeg(self, update: Update, wanted: PictureFormat) -> bytes | None:
        """None before the first frame."""
        if update.display.latest is None:
            return None
        key = picture_key(update)
        if key != self._key:
            self._key, self._jpegs = key, {}
        if wanted not in self._jpegs:
            image = draw_picture(update, wanted.max_width, self._framing)
            self._jpegs[wanted] = encode_jpeg(image, wanted.jpeg_quality)
        return self._jpegs[wanted]


def picture_key(update: Update) -> object:
    """Everything the picture depends on: equal keys mean equal pictures."""
    controls = update.display.controls
    return update.frame_at, controls.evidence, controls.smoothed, is_stale(update.display)


def draw_picture(update: Update, max_width: int, framing: Framing) -> Image:
    """The frame with a box around each face that is shown."""
    latest = update.display.latest
    assert latest is not None
    frame = latest.frame.image
    high, wide = frame.shape[:2]
    zoom = min(1.0, max_width / wide)
    width, height = max(1, round(wide * zoom)), max(1, round(high * zoom))
    image = np.array(frame)
    if zoom < 1:
        resized = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
        image = np.asarray(resized, np.uint8)
    area = PictureArea(Rect(0, 0, width, height), zoom)
    readings = shown_readings(update.display)
    for reading in readings:
        if update.display.controls.evidence:
            draw_evidence(image, reading, framing, area)
        _draw_box(image, reading, area, numbered=len(readings) > 1)
    return image


def _draw_box(image: Image, reading: Reading, area: PictureArea, numbered: bool) -> None:
    box = area.face_rect(reading.face)
    sizes = Sizes(min(area.rect.width / PHONE, box.height / NUMBER_SHARE))
    draw_outline(image, box, headline_colour(reading), sizes.px(1.4), GROUND)
    if numbered:
        above = (box.x, max(area.rect.y, box.y - tag_height(sizes)))  # on the hair, not on an eye
        draw_tag(image, above, str(reading.track), reading, sizes)


def encode_jpeg(image: Image, quality: int) -> bytes:
    return bytes(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1])
