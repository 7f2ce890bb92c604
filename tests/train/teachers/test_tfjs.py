"""TensorFlow.js weights are dequantized; files that do not fit are refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib.errors import RankotomError
from train.teachers.tfjs import read_weights

PLAIN = np.array([[1.5, -2.0, 0.25]], np.float32)
HALF = np.array([0.5, 3.0], np.float16)
BYTES = np.array([0, 1, 255, 7], np.uint8)


def write_model(folder: Path, *, cut: int = 0, in_model: bool = False) -> Path:
    """Three tensors in two files: stored as float32, as float16 and as bytes."""
    entries: list[dict[str, Any]] = [
        {"name": "plain", "shape": [1, 3], "dtype": "float32"},
        {"name": "half", "shape": [2], "dtype": "float32", "quantization": {"dtype": "float16"}},
        {
            "name": "bytes",
            "shape": [2, 2],
            "dtype": "float32",
            "quantization": {"dtype": "uint8", "scale": 0.5, "min": -3.0},
        },
    ]
    groups = [{"paths": ["one.bin", "two.bin"], "weights": entries}]
    content = PLAIN.tobytes() + HALF.tobytes() + BYTES.tobytes()
    (folder / "one.bin").write_bytes(content[:5])
    (folder / "two.bin").write_bytes(content[5 : len(content) - cut])
    manifest = folder / "model.json"
    manifest.write_text(json.dumps({"weightsManifest": groups} if in_model else groups))
    return manifest


@pytest.mark.parametrize("in_model", [False, True])
def test_tensors_are_dequantized_across_files(tmp_path: Path, in_model: bool) -> None:
    weights = read_weights(write_model(tmp_path, in_model=in_model))
    assert np.array_equal(weights["plain"], PLAIN)
    assert np.array_equal(weights["half"], [0.5, 3.0])
    assert np.array_equal(weights["bytes"], [[-3.0, -2.5], [124.5, 0.5]])
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}


def test_a_truncated_file_names_the_tensor_it_ends_in(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="end inside bytes: 3 bytes are missing"):
        read_weights(write_model(tmp_path, cut=3))


def test_bytes_beyond_the_manifest_are_refused(tmp_path: Path) -> None:
    manifest = write_model(tmp_path)
    with (tmp_path / "two.bin").open("ab") as file:
        file.write(b"more")
    with pytest.raises(RankotomError, match="different models"):
        read_weights(manifest)


def test_a_missing_file_says_where_to_get_it(tmp_path: Path) -> None:
    manifest = write_model(tmp_path)
    (tmp_path / "one.bin").unlink()
    with pytest.raises(RankotomError, match=r"one\.bin cannot be read.*npm pack"):
        read_weights(manifest)


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": 1}', '[{"paths": []}]'])
def test_another_json_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(RankotomError, match=r"not a TensorFlow\.js manifest"):
        read_weights(tmp_path / "model.json")


def test_an_unknown_type_is_named(tmp_path: Path) -> None:
    manifest = write_model(tmp_path)
    manifest.write_text(manifest.read_text().replace('"float16"', '"int4"'))
    with pytest.raises(RankotomError, match="half is float32 stored as int4"):
        read_weights(manifest)
