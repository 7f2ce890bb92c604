"""The activation map of the named expression, laid over the face that it was read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.geometry import Similarity, similarity
from rankotom_edge.views.window.panel_placement import Rect

if TYPE_CHECKING:
    from rankotom_edge.faces.crop import Framing
    from rankotom_edge.frame import Image
    from rankotom_edge.readings.reading import Reading
    from rankotom_edge.views.window.layout import Sheet

FINE = 64  # the map, of 3 x 3 cells, is drawn out smoothly to so many
STRONGEST = 0.62  # opacity where the evidence is strongest
FADE = 0.12  # of the crop, at its border


def draw_evidence(image: Image, reading: Reading, framing: Framing, sheet: Sheet) -> None:
    """The crop contract says where the map lies: its area is the crop's."""
    if reading.evidence is None:
        return
    face = reading.face
    points = [sheet.on_sheet(point) for point in (face.left_eye, face.right_eye, face.mouth)]
    on_map = (framing.points * FINE).tolist()
    to_sheet = similarity(points, on_map).inverse
    square = ((0, 0), (FINE, 0), (FINE, FINE), (0, FINE))
    across, down = zip(*(to_sheet.carry(corner) for corner in square), strict=True)
    left, top, right, bottom = min(across), min(down), max(across), max(down)
    area = Rect(left, top, right - left, bottom - top).within(sheet.picture)
    x, y, width, height = area.pixels
    if width < 1 or height < 1:
        return
    strength = _strength(reading.evidence[int(np.argmax(reading.probabilities))])
    turn, shift = to_sheet.between_pixels
    matrix = Similarity(turn, shift - complex(x, y)).matrix
    warped = cv2.warpAffine(strength, matrix, (width, height), flags=cv2.INTER_LINEAR)
    heat = cv2.applyColorMap(warped, cv2.COLORMAP_INFERNO)
    cover = (warped[..., np.newaxis] * STRONGEST).astype(np.uint16)
    ground = image[y : y + height, x : x + width]
    ground[:] = (ground * (255 - cover) + heat * cover) // 255


def _strength(evidence: NDArray[np.float32]) -> Image:
    """What speaks for the expression, 0 to 255, faded out at the border of the crop."""
    drawn = cv2.resize(evidence, (FINE, FINE), interpolation=cv2.INTER_CUBIC)
    positive = np.clip(drawn, 0, None)
    strongest = float(positive.max())
    if strongest <= 0:
        return np.zeros((FINE, FINE), np.uint8)
    along = (np.arange(FINE) + 0.5) / FINE
    fade = np.clip(np.minimum(along, 1 - along) / FADE, 0, 1)
    return np.asarray(255 * positive / strongest * np.outer(fade, fade), np.uint8)
