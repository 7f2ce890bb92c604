"""Something in front of the mouth is noticed, whatever the side and the size."""

import numpy as np
import pytest

from rankotom_edge.faces.covered_mouth import cover_log_odds, lower_edges
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

SIZE = 48


def test_a_covered_mouth_is_noticed_in_a_mirror_and_in_a_larger_crop_too(
    portrait: Image, face: Face, covered: Image
) -> None:
    for image, hidden in ((portrait, False), (covered, True)):
        seen = crop(image, face, FERPLUS_FRAMING, SIZE, 1)[0]
        mirrored = np.ascontiguousarray(seen[:, ::-1])
        assert cover_log_odds(mirrored) == pytest.approx(cover_log_odds(seen), abs=0.1)
        assert (cover_log_odds(crop(image, face, FERPLUS_FRAMING, 64, 1)[0]) > 0) == hidden


def test_a_flat_crop_has_no_edges() -> None:
    assert not lower_edges(np.full((SIZE, SIZE), 128, np.uint8)).any()


def test_edges_are_counted_by_place_and_direction() -> None:
    lines = np.zeros((SIZE, SIZE), np.uint8)
    lines[38:40] = 200  # a mouth's line, straight across
    counted = lower_edges(lines)
    assert counted.shape == (5, 4, 4)
    row, direction = np.unravel_index(counted.sum(axis=1).argmax(), (5, 4))
    # The seventh row of cells, of which the first three are left out; brightness changes downwards.
    assert (row, direction) == (3, 2)
