"""Where a data set's crops have their eyes and mouth, measured on real faces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from train.data.crops import load_crops
from train.data.datasets import FaceSet, data_folder, load_dataset
from train.data.framing import measure_framing

CACHE = data_folder(None)
needs_ferplus = pytest.mark.skipif(
    not (CACHE / "FERPlus" / "fer2013new.csv").exists(), reason=f"FERPlus is not in {CACHE}"
)
needs_lfw = pytest.mark.skipif(
    not (CACHE / "lfw-deepfunneled").exists(), reason=f"LFW is not in {CACHE}"
)


def test_crops_without_a_face_have_no_framing() -> None:
    with pytest.raises(RankotomError, match="any of 2 crops"):
        measure_framing(np.full((2, 1, 48, 48), 120, np.uint8))


def sample(faces: FaceSet, count: int) -> FaceSet:
    return faces.subset(np.linspace(0, len(faces) - 1, count).astype(np.int64))


@needs_ferplus
def test_the_contract_is_where_ferplus_has_its_eyes_and_mouth(tmp_path: Path) -> None:
    faces = sample(load_dataset("ferplus", CACHE, "train"), 300)
    measured = measure_framing(load_crops(faces, 48, 1, None, tmp_path))
    assert len(measured.points) / measured.tried > 0.97
    np.testing.assert_allclose(measured.framing.points, FERPLUS_FRAMING.points, atol=0.015)


@needs_lfw
def test_lfw_comes_out_in_the_contract_within_a_pixel(tmp_path: Path) -> None:
    faces = sample(load_dataset("lfw", CACHE, "train"), 100)
    measured = measure_framing(load_crops(faces, 48, 1, FERPLUS_FRAMING, tmp_path))
    assert len(measured.points) / measured.tried > 0.97
    np.testing.assert_allclose(measured.framing.points, FERPLUS_FRAMING.points, atol=1 / 48)
    assert measured.spread.max() < 0.03


def test_as_a_command_missing_data_ends_in_one_line_and_status_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "train.data.framing", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: No FERPlus in {tmp_path}")
    assert done.stderr.count("\n") == 1
