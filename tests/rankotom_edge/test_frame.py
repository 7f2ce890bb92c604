"""A frame's grey picture is made once, where the source prepares it."""

import cv2
import numpy as np

from rankotom_edge.frame import Frame


def test_the_grey_picture_is_made_once_and_is_opencvs() -> None:
    image = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    frame = Frame(image, 0, 0.0, 0.0)
    assert "grey" not in vars(frame)
    frame.prepare()
    assert "grey" in vars(frame)
    assert frame.grey is frame.grey
    np.testing.assert_array_equal(frame.grey, cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
