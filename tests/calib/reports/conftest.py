"""Random predictions and their drift, for the plots."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calib.drift import Drift, measure_drift
from calib.predictions import Predictions


@pytest.fixture(scope="session")
def read() -> Predictions:
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.full(8, 0.4), 300)
    return Predictions(
        shares, random.integers(0, 8, 300), votes=random.multinomial(10, shares).astype(float)
    )


@pytest.fixture(scope="session")
def blurred(read: Predictions) -> Drift:
    candidate = Predictions(0.8 * read.probabilities + 0.025, read.labels, votes=read.votes)
    return measure_drift(read, candidate, resamples=20)


@pytest.fixture(scope="session")
def pixels() -> Callable[[Path], tuple[int, int, int]]:
    """Width, height and the number of different bytes of a PNG, read without an image library."""

    def measure(path: Path) -> tuple[int, int, int]:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", data[16:24])
        packed, position = b"", 8
        while position < len(data):
            (length,) = struct.unpack(">I", data[position : position + 4])
            if data[position + 4 : position + 8] == b"IDAT":
                packed += data[position + 8 : position + 8 + length]
            position += length + 12
        return width, height, len(set(zlib.decompress(packed)))

    return measure
