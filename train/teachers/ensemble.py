"""The members of an ensemble of teachers: a run's averaged weights, or a model file."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rankotom_edge.model.artifact import LOGITS, load_artifact
from rankotom_edge.model.onnx_runtime import open_session
from train.augment import scale_pixels
from train.checkpoint import load_checkpoint
from train.networks import build_network, find_network

BATCH = 128
SMALLEST = 1e-6  # float16 may have rounded a probability to 0

Faces = NDArray[np.uint8]
Logits = NDArray[np.float32]


@dataclass(frozen=True)
class Member:
    """``logits`` takes faces of the crop contract, (n, 1, 48, 48)."""

    name: str
    sha256: str  # of the file, so that another one's cached probabilities are not used
    logits: Callable[[Faces], Logits]


def load_member(name: str, views: int = 2) -> Member:
    """From a run's folder, or a model by its name or path; ``views`` are a run's only."""
    path = Path(name).expanduser() / "checkpoint.safetensors"
    if path.is_file():
        network, sha256 = load_network(path), hashlib.sha256(path.read_bytes()).hexdigest()
        return Member(path.parent.name, sha256, lambda faces: network_logits(network, faces, views))
    artifact = load_artifact(name)
    return Member(
        artifact.path.stem, artifact.sha256, lambda faces: model_logits(artifact.path, faces)
    )


def load_network(checkpoint_file: Path) -> nn.Module:
    checkpoint = load_checkpoint(checkpoint_file)
    network = build_network(
        find_network(checkpoint.recipe["network"]),
        channels=checkpoint.recipe["channels"],
        classes=len(checkpoint.weights["fc.weight"]),
        dropout=0.0,
        importance=checkpoint.recipe.get("method") == "scn",
    )
    network.load_state_dict(checkpoint.weights)
    return network.eval()


@torch.inference_mode()
def network_logits(network: nn.Module, faces: Faces, views: int) -> Logits:
    """With two views, the mean over the face and its mirror image."""
    bfloat16 = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    means = []
    for batch in _batches(faces):
        pixels = scale_pixels(torch.from_numpy(batch))
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            logits = [network(view).float() for view in (pixels, pixels.flip(3))[:views]]
        means.append(torch.stack(logits).mean(dim=0).numpy())
    return np.concatenate(means)


def model_logits(path: Path, faces: Faces) -> Logits:
    session = open_session(path)
    name = session.get_inputs()[0].name
    return np.concatenate(
        [np.asarray(session.run([LOGITS], {name: batch})[0]) for batch in _batches(faces)]
    )


def ensemble_logits(probabilities: Sequence[NDArray[np.floating[Any]]]) -> Logits:
    """The logarithm of the members' mean probabilities, which a temperature can scale."""
    mean = np.mean(probabilities, axis=0, dtype=np.float32)
    return np.asarray(np.log(np.maximum(mean, SMALLEST)), np.float32)


def _batches(faces: Faces) -> list[Faces]:
    return [np.array(batch) for batch in np.array_split(faces, max(1, len(faces) // BATCH))]
