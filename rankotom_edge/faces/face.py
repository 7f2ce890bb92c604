"""One face: its box, and where its eyes, nose and mouth are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankotom_edge.geometry import Point, Similarity


@dataclass(frozen=True)
class Face:
    """One face, in pixels from the picture's corner; (0.5, 0.5) is the first pixel's centre.

    Left and right are the viewer's: the left eye of an upright face is nearer the left border.
    """

    box: tuple[float, float, float, float]  # x, y, width, height; may reach over the border
    left_eye: Point
    right_eye: Point
    nose: Point
    mouth: Point
    score: float  # the detector's, 0 to 1; not a calibrated probability

    @property
    def centre(self) -> Point:
        x, y, width, height = self.box
        return x + width / 2, y + height / 2

    def transform(self, motion: Similarity) -> Face:
        """The face after the motion; its box grows with it but stays upright."""
        growth, (x, y) = abs(motion.turn), motion.apply(self.centre)
        width, height = self.box[2] * growth, self.box[3] * growth
        left_eye, right_eye, nose, mouth = map(
            motion.apply, (self.left_eye, self.right_eye, self.nose, self.mouth)
        )
        box = (x - width / 2, y - height / 2, width, height)
        return Face(box, left_eye, right_eye, nose, mouth, self.score)


def overlap(one: Face, other: Face) -> float:
    """Intersection over union of the boxes."""
    left, top = max(one.box[0], other.box[0]), max(one.box[1], other.box[1])
    right = min(one.box[0] + one.box[2], other.box[0] + other.box[2])
    bottom = min(one.box[1] + one.box[3], other.box[1] + other.box[3])
    shared = max(0.0, right - left) * max(0.0, bottom - top)
    areas = one.box[2] * one.box[3] + other.box[2] * other.box[3]
    return shared / (areas - shared) if shared else 0.0


def nearest_face(faces: Sequence[Face], point: Point) -> Face | None:
    """The face whose box is centred nearest to ``point``: the subject, among bystanders."""
    return min(faces, key=lambda face: math.dist(face.centre, point), default=None)
