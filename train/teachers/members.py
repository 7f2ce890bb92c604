"""The networks that answer together: a run's averaged weights, or a model file."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from calib.emotions import EMOTIONS
from rankotom_edge.model.artifact import LOGITS, load_artifact
from rankotom_edge.model.onnx_runtime import open_session
from train.augment import scale_pixels
from train.checkpoint import load_checkpoint
from train.networks import build_network, find_network

AT_ONCE = 128

Faces = NDArray[np.uint8]
Logits = NDArray[np.float32]


@dataclass(frozen=True)
class Member:
    """``logits`` takes faces of the crop contract, (n, 1, 48, 48)."""

    name: str
    sha256: str  # of the file, so that answers of another one are noticed
    logits: Callable[[Faces], Logits]


def find_member(named: str, views: int = 2) -> Member:
    """A run's folder, or a model by its name or path (which has its own views)."""
    path = Path(named).expanduser() / "checkpoint.safetensors"
    if path.is_file():
        network = network_of(path)
        return Member(
            path.parent.name, _sha256(path), lambda faces: network_logits(network, faces, views)
        )
    artifact = load_artifact(named)
    return Member(
        artifact.path.stem, artifact.sha256, lambda faces: model_logits(artifact.path, faces)
    )


def network_of(path: Path) -> nn.Module:
    checkpoint = load_checkpoint(path)
    network = build_network(
        find_network(checkpoint.recipe["network"]),
        channels=checkpoint.recipe["channels"],
        classes=len(EMOTIONS),
        dropout=0.0,
    )
    network.load_state_dict(checkpoint.weights)
    return network.eval()


@torch.inference_mode()
def network_logits(network: nn.Module, faces: Faces, views: int) -> Logits:
    """With two views, the mean of the face's and its mirror image's."""
    fast = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    found = []
    for part in _parts(faces):
        pixels = scale_pixels(torch.from_numpy(part))
        shown = (pixels, pixels.flip(3))[:views]
        with torch.autocast("cpu", torch.bfloat16, enabled=fast):
            logits = [network(view).float() for view in shown]
        found.append(torch.stack(logits).mean(dim=0).numpy())
    return np.concatenate(found)


def model_logits(path: Path, faces: Faces) -> Logits:
    session = open_session(path)
    name = session.get_inputs()[0].name
    return np.concatenate(
        [np.asarray(session.run([LOGITS], {name: part})[0]) for part in _parts(faces)]
    )


def _parts(faces: Faces) -> list[Faces]:
    return [np.array(part) for part in np.array_split(faces, max(1, len(faces) // AT_ONCE))]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
