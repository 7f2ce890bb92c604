"""Draws a display as the window's picture: the frame with a box and a caption per face, the column
of cards beside it, the status line beneath."""

import cv2
import numpy as np

from rankotom_edge.frame import Image
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.display import Display
from rankotom_edge.views.drawing.activation_map import draw_evidence
from rankotom_edge.views.drawing.canvas import draw_outline, draw_text
from rankotom_edge.views.drawing.tag import draw_tag, tag_height, tag_width
from rankotom_edge.views.palette import GROUND, QUIET, headline_colour
from rankotom_edge.views.presenter import NO_FACE, is_stale, shown_readings
from rankotom_edge.views.window.captions import (
    APART,
    Caption,
    caption_forms,
    draw_lead,
    place_captions,
)
from rankotom_edge.views.window.cards import (
    STAGE,
    SteadyLevel,
    card_grid,
    draw_card,
    largest_level,
)
from rankotom_edge.views.window.insets import draw_inset, split_column
from rankotom_edge.views.window.layout import WindowLayout, divide_window
from rankotom_edge.views.window.stage import draw_large_words, draw_stage, plan_stage
from rankotom_edge.views.window.status_line import draw_message, draw_status_line
from rankotom_edge.views.wording import headline

SIZE_BEFORE_FIRST_FRAME = (640, 480)
STALE_BRIGHTNESS = 0.45  # of a picture that is no longer live; chosen by eye


class Overlay:
    """Remembers where captions are and how large the cards are, so that they stay so."""

    def __init__(self, model: MeasuredModel) -> None:
        self._reliability = Reliability(model.evaluation)
        self._framing = model.crop.framing
        self._captions: dict[int, Caption] = {}
        self._level = SteadyLevel()

    def draw(self, display: Display, room: tuple[int, int] | None = None) -> Image:
        """A new image that fills ``room`` (width, height), or shows the frame at its own size."""
        readings = shown_readings(display)
        layout = _divide(display, room)
        image = _draw_frame(display, layout)
        if display.controls.evidence:
            for reading in readings:
                draw_evidence(image, reading, self._framing, layout.picture)
        self._draw_faces(image, readings, layout)
        self._draw_column(image, display, readings, layout)
        draw_status_line(image, layout, display)
        draw_message(image, layout, display)
        return image

    def _draw_faces(
        self, image: Image, readings: tuple[Reading, ...], layout: WindowLayout
    ) -> None:
        sizes, several = layout.sizes, len(readings) > 1
        boxes = {reading.track: layout.picture.face_rect(reading.face) for reading in readings}
        forms = {
            reading.track: caption_forms(
                headline(reading, self._reliability), reading.track if several else None
            )
            for reading in readings
        }
        widths = {
            track: [tag_width(text, sizes) for text in texts] for track, texts in forms.items()
        }
        self._captions = place_captions(
            boxes, widths, tag_height(sizes), layout.around, self._captions
        )
        for reading in readings:
            box, caption = boxes[reading.track], self._captions.get(reading.track)
            if caption is not None and caption.side == APART:
                draw_lead(image, caption.rect, box, reading, sizes)
            draw_outline(image, box, headline_colour(reading), sizes.px(1.4), GROUND)
        for reading in readings:
            caption = self._captions.get(reading.track)
            if caption is not None:
                text = forms[reading.track][caption.form]
                draw_tag(image, caption.rect[:2], text, reading, sizes)

    def _draw_column(
        self,
        image: Image,
        display: Display,
        readings: tuple[Reading, ...],
        layout: WindowLayout,
    ) -> None:
        sizes = layout.sizes
        area, inset = split_column(layout, display.controls, len(readings))
        if inset is not None:
            draw_inset(image, inset, display.controls, readings, self._reliability, sizes)
        if not readings:
            if display.latest is not None and not is_stale(display):
                draw_large_words(image, area, NO_FACE, sizes)
            return
        labels, now = len(readings[0].labels), display.latest.frame.time if display.latest else 0.0
        stage = plan_stage(labels, area, sizes) if len(readings) == 1 else None
        largest = STAGE if stage else largest_level(len(readings), labels, area, sizes)
        level = self._level.update(largest, area, now)
        if stage is not None and level == STAGE:
            lane = display.history.lane(readings[0].track)
            draw_stage(image, stage, readings[0], lane, self._reliability, sizes)
            return
        grid = card_grid(len(readings), level, labels, area, sizes)
        for reading, rect in zip(readings, grid.rects, strict=False):
            number = reading.track if len(readings) > 1 else None
            draw_card(image, rect, level, reading, number, self._reliability, sizes)
        if grid.left_out is not None:
            words = f"+{len(readings) - len(grid.rects)} more faces"
            at = (grid.left_out.x + sizes.pad, grid.left_out.y)
            draw_text(image, words, at, sizes.text, QUIET)


def _divide(display: Display, room: tuple[int, int] | None) -> WindowLayout:
    latest = display.latest
    size = SIZE_BEFORE_FIRST_FRAME if latest is None else latest.frame.image.shape[1::-1]
    return divide_window(size, room, status_lines=2 if display.status.still else 1)


def _draw_frame(display: Display, layout: WindowLayout) -> Image:
    """A new image: the frame at the size it is shown, on an empty ground."""
    x, y, width, height = layout.picture.rect.pixels
    if display.latest is None:
        return np.full((layout.height, layout.width, 3), GROUND, np.uint8)
    frame = display.latest.frame.image
    if frame.shape[:2] != (height, width):
        # By a whole number first: averaging is a tenth of the work there, and INTER_LINEAR, which
        # looks at two pixels, leaves none out of the rest.
        times = int(1 / layout.picture.zoom)
        high, wide = (length // max(1, times) for length in frame.shape[:2])
        if times > 1 and high and wide:
            whole = frame[: high * times, : wide * times]
            frame = np.asarray(cv2.resize(whole, (wide, high), interpolation=cv2.INTER_AREA))
        frame = np.asarray(cv2.resize(frame, (width, height)), np.uint8)
    if is_stale(display):
        frame = np.asarray(cv2.convertScaleAbs(frame, alpha=STALE_BRIGHTNESS), np.uint8)
    right, below = layout.width - x - width, layout.height - y - height
    sides = (y, below, x, right)
    bordered = cv2.copyMakeBorder(frame, *sides, cv2.BORDER_CONSTANT, value=GROUND)
    return np.asarray(bordered, np.uint8)
