"""Draws the summary of a run as one picture to share."""

from pathlib import Path

import cv2
import numpy as np

from calib.files import replace_file
from rankotom_edge.frame import Image
from rankotom_edge.views.drawing.canvas import crop_image, draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.palette import CARD, GROUND, QUIET, TEXT, UNSURE_HEX, bgr, emotion_hex
from rankotom_edge.views.run_summary import RunSummary, clock
from rankotom_edge.views.wording import UNSURE

WIDTH, SCALE = 600, 2.0  # in units, and pixels a unit
ROW, CROP, FACE_ROW, NAMES, NUMBERS = 44, 26, 22, 86, 84
ABOUT = "Expressions that were seen, not what people felt."


def save_summary(path: Path, summary: RunSummary, title: str, drift: str | None) -> None:
    """Only the user may read it: it may show faces."""
    picture = draw_summary(summary, title, drift)
    with replace_file(path, mode=0o600) as temporary:
        temporary.write_bytes(cv2.imencode(".png", picture)[1].tobytes())


def draw_summary(summary: RunSummary, title: str, drift: str | None) -> Image:
    sizes = Sizes(SCALE)
    rows, faces = summary.expressions, summary.longest_faces
    high = ROW if all(best.crop is None for best in summary.surest.values()) else ROW + CROP
    units = 70 + high * len(rows) + (34 + FACE_ROW * len(faces) if faces else 0) + 62
    image = np.full((sizes.px(units), sizes.px(WIDTH), 3), GROUND, np.uint8)
    left, width = sizes.px(20), sizes.px(WIDTH - 40)
    draw_text(image, "rankotom-edge", (left, sizes.px(16)), sizes.px(18), TEXT, bold=True)
    draw_text(image, title, (left, sizes.px(42)), sizes.text, QUIET, room=width)
    y = float(sizes.px(70))
    if not rows:
        draw_text(image, "no face was read", (left, y), sizes.title, QUIET)
    longest = max((seconds for _, seconds in rows), default=1.0)
    for name, seconds in rows:
        row = Rect(left, y, width, sizes.px(high))
        _draw_expression(image, row, summary, name, seconds / longest)
        y += sizes.px(high)
    y += sizes.px(14)
    if faces:
        heading = "  ".join(filter(None, ("each face", summary.left_out())))
        draw_text(image, heading, (left, y), sizes.text, QUIET)
        y += sizes.px(20)
    most = max((sum(each.values()) for _, each in faces), default=1.0) or 1.0
    for track, each in faces:
        line = Rect(left, y, width, sizes.px(FACE_ROW))
        draw_text(image, f"face {track}", (left, y), sizes.text, TEXT)
        draw_text(image, clock(sum(each.values())), (line.right, y), sizes.text, TEXT, right=True)
        x, room = float(left + sizes.px(NAMES)), width - sizes.px(NAMES + NUMBERS)
        for name in (*summary.labels, UNSURE):
            part = room * each[name] / most
            bar = Rect(x, y + sizes.px(2), part, sizes.px(11))
            fill_rect(image, bar, _colour(summary, name))
            x += part
        y += sizes.px(FACE_ROW)
    for words in filter(None, (drift, ABOUT)):
        draw_text(image, words, (left, y + sizes.px(8)), sizes.text, QUIET, room=width)
        y += sizes.px(18)
    return image


def _draw_expression(
    image: Image, row: Rect, summary: RunSummary, name: str, length: float
) -> None:
    """The bar with its seconds and share; beneath it the surest moment, whose face is beside."""
    sizes = Sizes(SCALE)
    seconds = dict(summary.expressions)[name]
    numbers = f"{clock(seconds)}  {summary.share(seconds)}"
    draw_text(image, name, (row.x, row.y), sizes.text, TEXT, bold=True)
    draw_text(image, numbers, (row.right, row.y), sizes.text, TEXT, right=True)
    start, room = row.x + sizes.px(NAMES), row.width - sizes.px(NAMES + NUMBERS)
    track = Rect(start, row.y + sizes.px(2), room, sizes.px(11))
    fill_rect(image, track, CARD, sizes.px(3))
    bar = track._replace(width=max(length * room, sizes.px(3)))
    fill_rect(image, bar, _colour(summary, name), sizes.px(3))
    best = summary.surest.get(name)
    x = start
    if best is not None and best.crop is not None:
        size = sizes.px(CROP + 20)
        face = cv2.resize(crop_image(best.crop), (size, size), interpolation=cv2.INTER_LINEAR)
        top = round(row.y + sizes.px(16))
        image[top : top + size, round(x) : round(x) + size] = face
        x += size + sizes.px(8)
    at = (x, row.y + sizes.px(17))
    draw_text(image, summary.details(name), at, sizes.text, QUIET, room=row.right - x)


def _colour(summary: RunSummary, name: str) -> tuple[int, int, int]:
    if name == UNSURE:
        return bgr(UNSURE_HEX)
    return bgr(emotion_hex(summary.labels, summary.labels.index(name)))
