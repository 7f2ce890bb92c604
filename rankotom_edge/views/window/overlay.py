"""Draws a display as the window's picture: the frame, a box and a panel per face, the status."""

from dataclasses import replace

import cv2
import numpy as np

from rankotom_edge.frame import Image
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display
from rankotom_edge.views.drawing.activation_map import draw_evidence
from rankotom_edge.views.drawing.canvas import draw_outline
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.palette import GROUND, reading_colour
from rankotom_edge.views.presenter import is_stale, shown_readings
from rankotom_edge.views.window.insets import (
    crops_height,
    draw_crops,
    draw_help,
    draw_reliability,
    reliability_height,
)
from rankotom_edge.views.window.layout import WindowLayout, divide_window
from rankotom_edge.views.window.panel_placement import (
    Placement,
    Scene,
    arrange,
    arrange_most,
    is_roomy,
    keep_places,
)
from rankotom_edge.views.window.panels import HEADLINE, draw_badge, draw_panel, panel_sizes
from rankotom_edge.views.window.status_line import draw_message, draw_status_line

SIZE_BEFORE_FIRST_FRAME = (640, 480)
# How long the layout for a crowd remains, in seconds; chosen by eye, like the other numbers here.
# Without the delay, picture and panels would jump whenever somebody passes by.
COLUMN_STAYS_OPEN = 5.0
PANEL_STAYS_IN_COLUMN = 60.0  # in a column that is always open, though its face has room again
PANEL_STAYS_SMALL = 4.0
GROW_EVERY = 16  # frames between two attempts at larger panels
# At this share of the frame's size and below, pixels are averaged. Closer to 1 averaging is hardly
# visible, and costs several times as much as INTER_LINEAR.
AVERAGE_BELOW = 0.6
STALE_BRIGHTNESS = 0.45  # of a picture that is no longer live


class Overlay:
    """Remembers where the panels are, so that they stay there."""

    def __init__(self, model: MeasuredModel) -> None:
        self._reliability = Reliability(model.evaluation)
        self._framing = model.crop.framing
        self._placement = Placement()

    def draw(self, display: Display, room: tuple[int, int] | None = None) -> Image:
        """A new image that fills ``room`` (width, height), or of the frame's own size."""
        controls, readings = display.controls, shown_readings(display)
        layout, self._placement = _place_panels(display, readings, room, self._placement)
        image = _draw_frame(display, layout)
        if controls.evidence:
            for reading in readings:
                draw_evidence(image, reading, self._framing, layout.picture)
        _draw_faces(image, readings, layout, self._placement, self._reliability)
        _draw_insets(image, readings, controls, self._reliability, layout)
        draw_status_line(image, layout, display)
        draw_message(image, layout, display)
        if controls.help:
            draw_help(image, layout.picture.rect, controls.keys, layout.sizes)
        return image


def _place_panels(
    display: Display,
    readings: tuple[Reading, ...],
    room: tuple[int, int] | None,
    previous: Placement,
) -> tuple[WindowLayout, Placement]:
    """Opens a column next to the picture if a key asks for it or the picture has no room."""
    latest, controls = display.latest, display.controls
    now = 0.0 if latest is None else latest.frame.time
    closed = _layout(display, room, column=False)
    opened = _layout(display, room, column=True)
    in_closed = _with_bars(_scene(closed, readings, None))
    in_opened = _scene(opened, readings, _free_column(opened, readings, controls))
    always_open = (
        controls.reliability
        or controls.crop
        or (room is not None and _column_is_free(opened, closed))
    )
    if always_open:
        previous = leave_column_after_a_while(previous, in_closed, now)
    else:
        previous = close_unused_column(previous, in_closed, now)
    is_open = always_open or previous.column
    layout, scene = (opened, in_opened) if is_open else (closed, in_closed)
    if latest is not None and latest.frame.index % GROW_EVERY:
        placement = keep_places(scene, previous)
        if placement is not None:
            return layout, placement
    may_grow = not 0 <= now - previous.changed <= PANEL_STAYS_SMALL
    placement = None
    if layout is closed:
        placement = arrange(in_closed, previous, may_grow)
        if placement is None:  # bars in a column are better than headlines next to the faces
            layout, previous = opened, replace(previous, column_needed=now)
    if placement is None:
        placement = arrange(_with_bars(in_opened), previous, may_grow)
        placement = placement or arrange_most(in_opened, previous)
    if not placement.is_steady_since(previous):
        placement = replace(placement, changed=now)
    return layout, placement


def _with_bars(scene: Scene) -> Scene:
    return replace(scene, panel_sizes=scene.panel_sizes[:HEADLINE])


def close_unused_column(placement: Placement, closed: Scene, now: float) -> Placement:
    if not placement.column:
        return placement
    if not is_roomy(closed):
        return replace(placement, column_needed=now)
    if 0 <= now - placement.column_needed <= COLUMN_STAYS_OPEN:
        return placement
    return Placement()


def leave_column_after_a_while(placement: Placement, closed: Scene, now: float) -> Placement:
    """Moves panels back to their faces from a column that is always open."""
    stays = 0 <= now - placement.changed <= PANEL_STAYS_IN_COLUMN
    if placement.in_column and not stays and is_roomy(closed):
        return Placement(changed=now)
    return placement


def size_within(room: tuple[int, int], display: Display) -> tuple[int, int]:
    """The width and height of a window that picture and status line fill completely; with the
    column, if that takes nothing from the picture."""
    closed = _layout(display, room, column=False)
    opened = _layout(display, room, column=True)
    layout = opened if _column_is_free(opened, closed) else closed
    picture, column_width = layout.picture.rect, layout.width - layout.around.width
    return round(picture.width + column_width), round(picture.height + layout.status.height)


def _column_is_free(opened: WindowLayout, closed: WindowLayout) -> bool:
    """In a window wider than its picture, the column takes nothing from it, up to rounding."""
    return opened.picture.rect.width >= closed.picture.rect.width - 2


def _layout(display: Display, room: tuple[int, int] | None, column: bool) -> WindowLayout:
    latest = display.latest
    size = SIZE_BEFORE_FIRST_FRAME if latest is None else latest.frame.image.shape[1::-1]
    return divide_window(size, room, column=column, status_lines=2 if display.status.still else 1)


def _scene(layout: WindowLayout, readings: tuple[Reading, ...], column: Rect | None) -> Scene:
    labels = len(readings[0].labels) if readings else 0
    picture, gap = layout.picture, layout.sizes.gap
    return Scene(
        faces={reading.track: picture.head_rect(reading.face) for reading in readings},
        picture=layout.around.grow(-gap / 2),
        column=column,
        panel_sizes=panel_sizes(labels, layout.sizes),
        gap=gap,
        boxes={reading.track: picture.face_rect(reading.face) for reading in readings},
    )


def _free_column(
    layout: WindowLayout, readings: tuple[Reading, ...], controls: Controls
) -> Rect | None:
    """The part of the column below the insets."""
    if layout.column is None:
        return None
    taken = sum(height for _, height in _inset_heights(layout, readings, controls))
    column = layout.column
    return Rect(column.x, column.y + taken, column.width, column.height - taken)


def _inset_heights(
    layout: WindowLayout, readings: tuple[Reading, ...], controls: Controls
) -> list[tuple[str, float]]:
    sizes = layout.sizes
    heights: list[tuple[str, float]] = []
    if controls.reliability:
        heights.append(("reliability", reliability_height(sizes) + sizes.gap))
    if controls.crop:  # last, because the crops of a crowd may not all fit
        heights.append(("crops", crops_height(readings, sizes) + sizes.gap))
    return heights


def _draw_frame(display: Display, layout: WindowLayout) -> Image:
    """A new image: the frame at the size it is shown, on an empty ground."""
    x, y, width, height = layout.picture.rect.pixels
    if display.latest is None:
        return np.full((layout.height, layout.width, 3), GROUND, np.uint8)
    frame = display.latest.frame.image
    if frame.shape[:2] != (height, width):
        kind = cv2.INTER_AREA if layout.picture.zoom <= AVERAGE_BELOW else cv2.INTER_LINEAR
        frame = np.asarray(cv2.resize(frame, (width, height), interpolation=kind), np.uint8)
    if is_stale(display):
        frame = np.asarray(cv2.convertScaleAbs(frame, alpha=STALE_BRIGHTNESS), np.uint8)
    right, below = layout.width - x - width, layout.height - y - height
    sides = (y, below, x, right)
    bordered = cv2.copyMakeBorder(frame, *sides, cv2.BORDER_CONSTANT, value=GROUND)
    return np.asarray(bordered, np.uint8)


def _draw_faces(
    image: Image,
    readings: tuple[Reading, ...],
    layout: WindowLayout,
    placement: Placement,
    reliability: Reliability,
) -> None:
    sizes = layout.sizes
    several = len(readings) > 1
    for reading in readings:
        box = layout.picture.face_rect(reading.face)
        radius = min(sizes.px(12), 0.15 * min(box.width, box.height))
        draw_outline(image, box, radius, reading_colour(reading), sizes.px(1.4), GROUND)
        if several:
            draw_badge(image, reading, (box.x, box.y), sizes)
    for reading in readings:
        place = placement.places.get(reading.track)
        if place is not None:
            number = reading.track if several else None
            draw_panel(image, place.rect, place.level, reading, number, reliability, sizes)


def _draw_insets(
    image: Image,
    readings: tuple[Reading, ...],
    controls: Controls,
    reliability: Reliability,
    layout: WindowLayout,
) -> None:
    if layout.column is None:
        return
    sizes, top = layout.sizes, layout.column.y
    for name, height in _inset_heights(layout, readings, controls):
        rect = Rect(layout.column.x, top, layout.column.width, height - sizes.gap)
        rect = rect.within(layout.column)
        top += height
        if name == "reliability":
            draw_reliability(image, rect, reliability.evaluation, sizes)
        else:
            draw_crops(image, rect, readings, len(readings) > 1, sizes)
