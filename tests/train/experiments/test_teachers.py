"""The tables that compare networks, with the embedded model on made faces."""

import cv2
import numpy as np

from train.experiments.damage import DAMAGES
from train.experiments.teachers import comparison_table, crop_pictures, damage_table
from train.teachers.ensemble import load_member

LABELS = np.arange(8)
VOTES = 5.0 * (np.eye(8) + np.roll(np.eye(8), 1, axis=1))  # every face a blend
NOISE = np.random.default_rng(0).integers(40, 200, (8, 48, 48), np.uint8)
PICTURES = [
    np.asarray(cv2.cvtColor(cv2.GaussianBlur(face, (0, 0), 3), cv2.COLOR_GRAY2BGR), np.uint8)
    for face in NOISE
]


def test_the_crop_of_a_picture_that_the_face_fills_is_the_picture() -> None:
    for side in (48, 96):
        pictures = [np.asarray(cv2.resize(each, (side, side)), np.uint8) for each in PICTURES]
        difference = crop_pictures(pictures)[:, 0].astype(int) - np.stack(PICTURES)[..., 0]
        assert np.abs(difference).mean() < 1


def test_two_networks_have_a_row_each_and_one_together() -> None:
    faces = crop_pictures(PICTURES)
    assert comparison_table(["ferplus-fp32"], faces, LABELS, VOTES).row_count == 1
    table = comparison_table(["ferplus-fp32", "ferplus-int8"], faces, LABELS, VOTES)
    names = list(table.columns[0].cells)
    assert names == ["ferplus-fp32", "ferplus-int8", "ensemble"]


def test_every_damage_has_a_row() -> None:
    table = damage_table(load_member("ferplus-fp32"), PICTURES, LABELS)
    assert table.row_count == 1 + sum(len(damages) for damages in DAMAGES.values())
