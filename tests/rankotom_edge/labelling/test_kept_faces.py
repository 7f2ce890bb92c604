import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.labelling.kept_faces import INDEX, holds_faces, keep_faces, read_kept_faces
from rankotom_edge.model.artifact import Artifact


def some_faces() -> list[FaceToLabel]:
    randomness = np.random.default_rng(0)
    return [
        FaceToLabel(
            f"{number:016x}",
            f"run, track {number}",
            randomness.integers(0, 256, (12, 12, 3), dtype=np.uint8),
            randomness.normal(size=8),
        )
        for number in range(3)
    ]


def test_kept_faces_come_back_as_they_were(tmp_path: Path, fp32: Artifact) -> None:
    faces, folder = some_faces(), tmp_path / "kept"
    keep_faces(folder, faces, fp32, "camera 0")
    assert holds_faces(folder)
    kept, source = read_kept_faces(folder, fp32)
    assert source == "camera 0"
    for one, other in zip(kept, faces, strict=True):
        assert (one.key, one.group) == (other.key, other.group)
        assert np.array_equal(one.picture, other.picture)
        np.testing.assert_allclose(one.logits, other.logits, atol=1e-6)


def test_kept_faces_are_private(tmp_path: Path, fp32: Artifact) -> None:
    folder = tmp_path / "kept"
    keep_faces(folder, some_faces(), fp32, "camera 0")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_a_face_is_deleted_with_its_picture(tmp_path: Path, fp32: Artifact) -> None:
    folder = tmp_path / "kept"
    keep_faces(folder, some_faces(), fp32, "camera 0")
    (folder / f"{1:016x}.png").unlink()
    kept, _ = read_kept_faces(folder, fp32)
    assert [face.group for face in kept] == ["run, track 0", "run, track 2"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, fp32: Artifact) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RankotomError, match="is not empty"):
        keep_faces(tmp_path, some_faces(), fp32, "camera 0")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_another_model_s_faces_are_refused(tmp_path: Path, fp32: Artifact) -> None:
    folder = tmp_path / "kept"
    keep_faces(folder, some_faces(), replace(fp32, sha256="0" * 64), "camera 0")
    with pytest.raises(RankotomError, match="read by another model"):
        read_kept_faces(folder, fp32)


def line(key: str = "0" * 16, logits: object = (0,) * 8) -> bytes:
    saved = {"key": key, "group": "g", "model": "m", "source": "s", "logits": logits}
    return json.dumps(saved).encode()


@pytest.mark.parametrize(
    "damaged",
    [
        b"\xff\xfe",
        b"[" * 100_000,
        b"{}",
        b"[]",
        b"7",
        line(key="../../etc/passwd"),
        line(logits=[0] * 7),
        line(logits="12345678"),
        line(logits=[float("nan"), *[0] * 7]),
        line().replace(b"[0,", b"[1e999,"),
        b'{"key": 1e999}',
    ],
)
def test_a_damaged_index_is_one_clear_error(tmp_path: Path, fp32: Artifact, damaged: bytes) -> None:
    (tmp_path / INDEX).write_bytes(damaged + b"\n")
    with pytest.raises(RankotomError, match=INDEX) as raised:
        read_kept_faces(tmp_path, fp32)
    assert len(str(raised.value)) < 500
