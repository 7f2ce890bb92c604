"""Draws the class activation map of the highest expression over its face."""

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.crop import Framing
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Similarity, align_points
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect

MAP_SIZE = 64  # pixels to which the 3 x 3 cells of the map are interpolated
# Both chosen by eye.
MAX_OPACITY = 0.62  # where the evidence is strongest
FADE = 0.12  # width of the faded border, as a share of the crop


def draw_evidence(image: Image, reading: Reading, framing: Framing, picture: PictureArea) -> None:
    """The map covers the same part of the face as the crop, so ``framing`` gives its place."""
    if reading.evidence is None:
        return
    face = reading.face
    points = [picture.to_canvas(point) for point in (face.left_eye, face.right_eye, face.mouth)]
    on_map = (framing.points * MAP_SIZE).tolist()
    map_to_canvas = align_points(points, on_map).inverse
    square = ((0, 0), (MAP_SIZE, 0), (MAP_SIZE, MAP_SIZE), (0, MAP_SIZE))
    across, down = zip(*(map_to_canvas.apply(corner) for corner in square), strict=True)
    left, top, right, bottom = min(across), min(down), max(across), max(down)
    area = Rect(left, top, right - left, bottom - top).within(picture.rect)
    x, y, width, height = area.pixels
    if width < 1 or height < 1:
        return
    strength = _strength(reading.evidence[int(np.argmax(reading.probabilities))])
    turn, shift = map_to_canvas.from_pixel_centres
    matrix = Similarity(turn, shift - complex(x, y)).matrix
    warped = cv2.warpAffine(strength, matrix, (width, height), flags=cv2.INTER_LINEAR)
    heat = cv2.applyColorMap(warped, cv2.COLORMAP_INFERNO)
    cover = (warped[..., np.newaxis] * MAX_OPACITY).astype(np.uint16)
    ground = image[y : y + height, x : x + width]
    ground[:] = (ground * (255 - cover) + heat * cover) // 255


def _strength(evidence: NDArray[np.float32]) -> Image:
    """The positive evidence, scaled to 0 to 255 and faded out at the border of the crop."""
    enlarged = cv2.resize(evidence, (MAP_SIZE, MAP_SIZE), interpolation=cv2.INTER_CUBIC)
    positive = np.clip(enlarged, 0, None)
    strongest = float(positive.max())
    if strongest <= 0:
        return np.zeros((MAP_SIZE, MAP_SIZE), np.uint8)
    along = (np.arange(MAP_SIZE) + 0.5) / MAP_SIZE
    fade = np.clip(np.minimum(along, 1 - along) / FADE, 0, 1)
    return np.asarray(255 * positive / strongest * np.outer(fade, fade), np.uint8)
