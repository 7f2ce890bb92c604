"""A toy data set that a narrow network learns in seconds, and training runs on it.

A toy face is a grating whose number of cycles is its class. It is symmetric, so that a mirrored
face keeps its class, and the same from top to bottom, so that two halves can be blended. Run as a
script, this file trains on the toy in another process: ``python conftest.py RUN '{"epochs": 2}'``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from train.batches import TrainingFaces
from train.loop import train
from train.ranks import Ranks, join_ranks
from train.recipe import Recipe

ALONE = Ranks(0, 1, torch.device("cpu"))
CLASSES = ("one", "two", "three", "four")
SIZE = 16
BASE = Recipe(
    name="toy",
    network="edge-narrow",
    size=SIZE,
    channels=1,
    batch=8,
    epochs=2,
    learning_rate=2e-3,
    ema=0.9,
    dropout=0.2,
    threshold_start=0.26,  # low enough for an untrained network to keep some faces
)


def gratings(labels: NDArray[np.int64], seed: int) -> NDArray[np.uint8]:
    random = np.random.default_rng(seed)
    across = (np.arange(SIZE) - (SIZE - 1) / 2) / SIZE
    waves = np.cos(2 * np.pi * (labels[:, None] + 1) * across)
    faces = np.broadcast_to(waves[:, None, None, :], (len(labels), 1, SIZE, SIZE))
    noise = random.normal(scale=0.3, size=faces.shape)
    return np.clip(127.5 + 60 * (faces + noise), 0, 255).astype(np.uint8)


def toy_faces(count: int = 32) -> TrainingFaces:
    labels = np.arange(count) % len(CLASSES)
    return TrainingFaces(
        classes=CLASSES,
        fer=gratings(labels, seed=1),
        labels=labels,
        targets=np.eye(len(CLASSES), dtype=np.float32)[labels],
        fr=gratings(np.arange(13) % len(CLASSES), seed=2),
        choose=gratings(labels, seed=3),
        choose_labels=labels,
        vote_peaks=np.linspace(0.3, 1, count, dtype=np.float32),
    )


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """The last bit of a sum depends on how it is divided between threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def alone() -> Ranks:
    return ALONE


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    return BASE


@pytest.fixture(scope="session")
def faces() -> TrainingFaces:
    return toy_faces()


@pytest.fixture(scope="session")
def make_faces() -> Callable[[int], TrainingFaces]:
    return toy_faces


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run of three epochs."""
    run = tmp_path_factory.mktemp("finished") / "run"
    train(replace(BASE, epochs=3), toy_faces(), run, ALONE)
    return run


Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def start_training() -> Start:
    """Train on the toy in one process, or in several under torchrun."""

    def start(
        run: Path, changes: dict[str, Any], prelude: str = "", processes: int = 1
    ) -> subprocess.CompletedProcess[str]:
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
        return subprocess.run(
            [
                sys.executable,
                *([*torchrun, str(processes)] if processes > 1 else []),
                __file__,
                str(run),
                json.dumps(changes),
                prelude,
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            timeout=300,
            check=False,
        )

    return start


if __name__ == "__main__":
    folder, changes, prelude = sys.argv[1:4]
    torch.set_num_threads(1)
    with join_ranks() as ranks:
        exec(prelude, {"ranks": ranks})  # code of the test, for this process
        train(replace(BASE, **json.loads(changes)), toy_faces(), Path(folder), ranks)
