"""One face: its box, and where its eyes, nose and mouth are."""

from __future__ import annotations

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

    def carried(self, motion: Similarity) -> Face:
        """The face where the motion takes it; its box grows with it but stays upright."""
        there, growth = motion.carry, abs(motion.turn)
        x, y = there(self.centre)
        width, height = self.box[2] * growth, self.box[3] * growth
        return Face(
            box=(x - width / 2, y - height / 2, width, height),
            left_eye=there(self.left_eye),
            right_eye=there(self.right_eye),
            nose=there(self.nose),
            mouth=there(self.mouth),
            score=self.score,
        )
