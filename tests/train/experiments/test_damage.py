"""Each damage of the table, measured with the embedded model."""

from importlib import resources
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.face import Face
from rankotom_edge.model.artifact import load_artifact
from train.data.datasets import FaceSet
from train.experiments.damage import DAMAGES, DamageResult, measure_all

# The demo portrait's, so that this needs no detector.
FACE = Face((177, 83, 96, 96), (206.5, 108.9), (251.0, 108.7), (230, 129), (228.6, 150.5), 0.92)


def test_a_happy_portrait_is_recognised_in_the_dark_and_called_poor_where_damaged_more(
    tmp_path: Path,
) -> None:
    data = (resources.files("rankotom_edge.sources") / "eileen-collins.jpg").read_bytes()
    portrait = np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)
    seen = crop(portrait, FACE, FERPLUS_FRAMING, 48, 1)[0]
    cv2.imwrite(str(tmp_path / "face.png"), seen)
    happy = np.array([EMOTIONS.index("happiness")])
    faces = FaceSet("made", (tmp_path / "face.png",), EMOTIONS, happy)
    found = measure_all(load_artifact("ferplus-fp32"), faces, threads=1)
    assert len(found) == 1 + sum(len(damages) for damages in DAMAGES.values())
    plain, dark = found["", "as they are"], found["light", "1/4 of the light"]
    assert (plain.accuracy, plain.poor) == (1, 0)
    assert (dark.accuracy, dark.poor) == (1, 0)
    assert found["light", "1/28 of the light"].poor == 1
    assert found["size", "13 pixels wide"].poor == 1
    assert found["sharpness", "blur of 2 px"].component < 0.5


def test_overconfidence_is_confidence_less_accuracy() -> None:
    assert DamageResult(0.7, 0.9, 1.0, 0.0).overconfidence == pytest.approx(0.2)
