"""Draws a moment as a picture: faces, bars and blends on the frame, the state around it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import cv2
import numpy as np

from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.presenter import is_stale, shown_readings
from rankotom_edge.views.drawing.activation_map import draw_evidence
from rankotom_edge.views.drawing.canvas import outline
from rankotom_edge.views.window.insets import (
    crops_height,
    draw_crops,
    draw_help,
    draw_reliability,
    reliability_height,
)
from rankotom_edge.views.window.layout import Sheet, divide
from rankotom_edge.views.window.panel_placement import (
    Layout,
    Rect,
    Scene,
    arrange,
    arrange_most,
    is_roomy,
    kept,
)
from rankotom_edge.views.window.panels import GROUND, HEADLINE, badge, draw_panel, reading_colour
from rankotom_edge.views.window.status_line import draw_foot, draw_message

if TYPE_CHECKING:
    from rankotom_edge.faces.crop import Framing
    from rankotom_edge.frame import Image
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.readings.reading import Reading
    from rankotom_edge.views.controls import Controls
    from rankotom_edge.views.display import Display

BEFORE_THE_FIRST = (640, 480)
LOOK_ROUND = 16  # frames between two looks for larger panels
# Seconds for which a crowd that has gone leaves its traces: at once, the picture and the panels
# would jump to and fro with every passer-by.
COLUMN_LINGERS = 5.0
AWAY = 60.0  # for which a panel stays in a column that is always open, though its face has room
CHANGE_LINGERS = 4.0
# At this share of the frame's size and less, its pixels are averaged. Nearer to 1 one hardly sees
# it, and at 1080 lines it takes 29 ms where INTER_LINEAR takes 5.
AVERAGED = 0.6
STALE = 0.45  # the light that is left to a picture that is no longer live


class Overlay:
    """Knows the model whose readings it draws, and where it put the panels last."""

    def __init__(self, model: MeasuredModel) -> None:
        self._reliability = Reliability(model.evaluation)
        self._framing = model.crop.framing
        self._layout = Layout()

    def draw(self, display: Display, room: tuple[int, int] | None = None) -> Image:
        """A new picture that fills ``room`` (width, height), or of the frame's own size."""
        picture, self._layout = draw(display, self._reliability, self._framing, room, self._layout)
        return picture


def draw(
    display: Display,
    reliability: Reliability,
    framing: Framing,
    room: tuple[int, int] | None,
    previous: Layout,
) -> tuple[Image, Layout]:
    """The picture, and where its panels are, for the next one to keep them there."""
    controls, readings = display.controls, shown_readings(display)
    sheet, layout = _arranged(display, readings, room, previous)
    image = _ground(display, sheet)
    if controls.evidence:
        for reading in readings:
            draw_evidence(image, reading, framing, sheet)
    _faces(image, readings, sheet, layout, reliability)
    _insets(image, readings, controls, reliability, sheet)
    draw_foot(image, sheet, display)
    draw_message(image, sheet, display)
    if controls.help:
        draw_help(image, sheet.picture, controls.keys, sheet.measures)
    return image, layout


def _arranged(
    display: Display,
    readings: tuple[Reading, ...],
    room: tuple[int, int] | None,
    previous: Layout,
) -> tuple[Sheet, Layout]:
    """With a column beside the picture where a key asks for one, or the picture has no room."""
    latest, controls = display.latest, display.controls
    now = 0.0 if latest is None else latest.frame.time
    closed = _sheet(display, room, column=False)
    opened = _sheet(display, room, column=True)
    in_closed = _with_bars(_scene(closed, readings, None))
    in_opened = _scene(opened, readings, _free_column(opened, readings, controls))
    always = controls.reliability or controls.crop or (room is not None and _fits(opened, closed))
    previous = (back_in_time if always else column_in_time)(previous, in_closed, now)
    is_open = always or previous.column
    sheet, scene = (opened, in_opened) if is_open else (closed, in_closed)
    if latest is not None and latest.frame.index % LOOK_ROUND:
        layout = kept(scene, previous)
        if layout is not None:
            return sheet, layout
    may_grow = not 0 <= now - previous.changed <= CHANGE_LINGERS
    layout = None
    if sheet is closed:
        layout = arrange(in_closed, previous, may_grow)
        if layout is None:  # bars in a column are better than headlines beside the faces
            sheet, previous = opened, replace(previous, column_needed=now)
    if layout is None:
        layout = arrange(_with_bars(in_opened), previous, may_grow)
        layout = layout or arrange_most(in_opened, previous)
    if not layout.is_as_calm_as(previous):
        layout = replace(layout, changed=now)
    return sheet, layout


def _with_bars(scene: Scene) -> Scene:
    return replace(scene, sizes=scene.sizes[:HEADLINE])


def column_in_time(layout: Layout, closed: Scene, now: float) -> Layout:
    """The column closes when it was not needed for a while."""
    if not layout.column:
        return layout
    if not is_roomy(closed):
        return replace(layout, column_needed=now)
    if 0 <= now - layout.column_needed <= COLUMN_LINGERS:
        return layout
    return Layout()


def back_in_time(layout: Layout, closed: Scene, now: float) -> Layout:
    """Panels return from a column that does not close when their faces have had room for long."""
    if layout.in_column and not 0 <= now - layout.changed <= AWAY and is_roomy(closed):
        return Layout(changed=now)
    return layout


def size_within(room: tuple[int, int], display: Display) -> tuple[int, int]:
    """The width and height of a window that picture and line fill without a rest; with the column,
    where it takes nothing from the picture."""
    closed = _sheet(display, room, column=False)
    opened = _sheet(display, room, column=True)
    sheet = opened if _fits(opened, closed) else closed
    beside = sheet.width - sheet.around.width
    return round(sheet.picture.width + beside), round(sheet.picture.height + sheet.foot.height)


def _fits(opened: Sheet, closed: Sheet) -> bool:
    """In a window that is wider than its picture a column takes nothing from it, but a pixel that
    was rounded away."""
    return opened.picture.width >= closed.picture.width - 2


def _sheet(display: Display, room: tuple[int, int] | None, column: bool) -> Sheet:
    latest = display.latest
    size = BEFORE_THE_FIRST if latest is None else latest.frame.image.shape[1::-1]
    return divide(size, room, column=column, foot_lines=2 if display.status.still else 1)


def _scene(sheet: Sheet, readings: tuple[Reading, ...], column: Rect | None) -> Scene:
    labels = len(readings[0].labels) if readings else 0
    faces = {reading.track: sheet.head_rect(reading.face) for reading in readings}
    gap = sheet.measures.px(8)
    cores = {reading.track: sheet.face_rect(reading.face) for reading in readings}
    inner = sheet.around.grown(-gap / 2)
    return Scene(faces, inner, column, sheet.measures.panel_sizes(labels), gap, cores)


def _free_column(sheet: Sheet, readings: tuple[Reading, ...], controls: Controls) -> Rect | None:
    """What the insets leave of the column."""
    if sheet.column is None:
        return None
    taken = sum(height for _, height in _inset_heights(sheet, readings, controls))
    column = sheet.column
    return Rect(column.x, column.y + taken, column.width, column.height - taken)


def _inset_heights(
    sheet: Sheet, readings: tuple[Reading, ...], controls: Controls
) -> list[tuple[str, float]]:
    gap = sheet.measures.px(8)
    heights: list[tuple[str, float]] = []
    if controls.reliability:
        heights.append(("reliability", reliability_height(sheet.measures) + gap))
    if controls.crop:  # last: of many faces only some fit
        heights.append(("crops", crops_height(readings, sheet.measures) + gap))
    return heights


def _ground(display: Display, sheet: Sheet) -> Image:
    """The frame as large as it is shown, and nothing around it."""
    x, y, width, height = sheet.picture.pixels
    if display.latest is None:
        return np.full((sheet.height, sheet.width, 3), GROUND, np.uint8)
    frame = display.latest.frame.image
    if frame.shape[:2] != (height, width):
        kind = cv2.INTER_AREA if sheet.zoom <= AVERAGED else cv2.INTER_LINEAR
        frame = np.asarray(cv2.resize(frame, (width, height), interpolation=kind), np.uint8)
    if is_stale(display):
        frame = np.asarray(cv2.convertScaleAbs(frame, alpha=STALE), np.uint8)
    right, below = sheet.width - x - width, sheet.height - y - height
    sides = (y, below, x, right)
    bordered = cv2.copyMakeBorder(frame, *sides, cv2.BORDER_CONSTANT, value=GROUND)
    return np.asarray(bordered, np.uint8)


def _faces(
    image: Image,
    readings: tuple[Reading, ...],
    sheet: Sheet,
    layout: Layout,
    reliability: Reliability,
) -> None:
    measures = sheet.measures
    several = len(readings) > 1
    for reading in readings:
        box = sheet.face_rect(reading.face)
        radius = min(measures.px(12), 0.15 * min(box.width, box.height))
        outline(image, box, radius, reading_colour(reading), measures.px(1.4), GROUND)
        if several:
            badge(image, reading, (box.x, box.y), sheet.measures)
    for reading in readings:
        place = layout.places.get(reading.track)
        if place is not None:
            number = reading.track if several else None
            draw_panel(image, place.rect, place.level, reading, number, reliability, measures)


def _insets(
    image: Image,
    readings: tuple[Reading, ...],
    controls: Controls,
    reliability: Reliability,
    sheet: Sheet,
) -> None:
    if sheet.column is None:
        return
    gap = sheet.measures.px(8)
    top = sheet.column.y
    for name, height in _inset_heights(sheet, readings, controls):
        rect = Rect(sheet.column.x, top, sheet.column.width, height - gap).within(sheet.column)
        top += height
        if name == "reliability":
            draw_reliability(image, rect, reliability.evaluation, sheet.measures)
        else:
            draw_crops(image, rect, readings, len(readings) > 1, sheet.measures)
