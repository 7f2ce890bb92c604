"""A face for a person to label."""

from dataclasses import dataclass

from calib.arrays import FloatArray
from rankotom_edge.frame import Image


@dataclass(frozen=True, eq=False)
class FaceToLabel:
    """``key`` names the face in the label file: the same face has the same key in every run.

    Faces of one ``group`` are not independent of each other. Its name is nested, the innermost
    last: some seconds of a track of a session, or a photograph in a person's folder. Where there
    are few tracks or people, as in front of a laptop, these count as independent (``votes``).
    ``logits`` are the model's, divided by its temperature: softmax(logits) is what it says as
    shipped.
    """

    key: str
    group: str
    picture: Image  # BGR, for the person: larger than the network's crop, and nothing else in it
    logits: FloatArray  # (k,)
