import numpy as np

from export.predict import faces_hash
from export.unlabelled import UnlabelledFaces


def test_both_parts_are_named_counted_and_hashed_without_labels() -> None:
    calibration = np.zeros((3, 1, 4, 4), np.uint8)
    held_out = np.ones((2, 1, 4, 4), np.uint8)
    used, judged = UnlabelledFaces("album", calibration, held_out).used
    assert (used.name, judged.name) == ("album/calibrate", "album/judge")
    assert (used.count, judged.count) == (3, 2)
    no_labels = np.empty(0, np.int64)
    assert used.sha256 == faces_hash(calibration, no_labels)
    assert judged.sha256 == faces_hash(held_out, no_labels)
