"""The state of a run in one safetensors file, replaced whole or not at all.

Randomness is a function of (seed, epoch, step), so the file needs no generator states: weights,
averaged weights, optimiser, thresholds and the epoch are everything.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from calib.errors import RankotomError
from train.recipe import Recipe

FORMAT = "1"


@dataclass(frozen=True)
class Checkpoint:
    recipe: dict[str, Any]
    epoch: int  # epochs that are done
    tensors: dict[str, Tensor]

    def group(self, name: str) -> dict[str, Tensor]:
        """The tensors under a name, as a state dict."""
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): value
            for key, value in self.tensors.items()
            if key.startswith(prefix)
        }

    @property
    def thresholds(self) -> Tensor:
        return self.tensors["thresholds"]

    @property
    def weights(self) -> dict[str, Tensor]:
        """The weights that are the model: the averaged ones."""
        return self.group("averaged")


def save_checkpoint(
    path: Path,
    *,
    recipe: Recipe,
    epoch: int,
    network: nn.Module,
    averaged: nn.Module,
    optimizer: Optimizer,
    thresholds: Tensor,
) -> None:
    tensors = {"thresholds": thresholds}
    tensors |= {f"network.{key}": value for key, value in network.state_dict().items()}
    tensors |= {f"averaged.{key}": value for key, value in averaged.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": value for key, value in state.items()}
    tensors = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    metadata = {"format": FORMAT, "recipe": recipe.as_json(), "epoch": str(epoch)}
    partial = path.with_name(f".{path.name}.partial")
    try:
        save_file(tensors, partial, metadata)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        kept = f"The one from before is whole: {path}." if path.exists() else ""
        raise RankotomError(
            f"The checkpoint of epoch {epoch} can't be written to {path.parent}: {error}. {kept} "
            "Make room and run the same command again to go on."
        ) from error


def load_checkpoint(path: Path) -> Checkpoint:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise RankotomError(f"{path} can't be read as a checkpoint: {error}.") from error
    if metadata.get("format") != FORMAT:
        raise RankotomError(
            f"{path} is not a checkpoint of this version: its format is "
            f"{metadata.get('format', 'not given')}, {FORMAT} is read."
        )
    return Checkpoint(json.loads(metadata["recipe"]), int(metadata["epoch"]), tensors)


def resume(
    checkpoint: Checkpoint,
    path: Path,
    recipe: Recipe,
    network: nn.Module,
    averaged: nn.Module,
    optimizer: Optimizer,
) -> None:
    """The run's state as it was; a checkpoint of another recipe is refused, not mixed in."""
    ours = json.loads(recipe.as_json())
    differing = sorted(key for key in ours if ours[key] != checkpoint.recipe.get(key))
    if differing:
        found = ", ".join(f"{key} is {checkpoint.recipe.get(key)}" for key in differing)
        raise RankotomError(
            f"{path} is of another recipe: {found}. Choose another folder with --run, or remove "
            "this one to start over."
        )
    network.load_state_dict(checkpoint.group("network"))
    averaged.load_state_dict(checkpoint.group("averaged"))
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in checkpoint.group("optimizer").items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )


def load_weights(path: Path, network: nn.Module) -> None:
    """Weights to start from: safetensors, or a .pth of tensors alone; the last layer may differ."""
    try:
        if path.suffix == ".safetensors":
            with safe_open(path, framework="pt") as file:
                given = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        else:
            given = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError, RuntimeError, ValueError) as error:
        raise RankotomError(f"{path} can't be read as weights: {error}.") from error
    own = network.state_dict()
    given = {key: value for key, value in given.items() if not key.startswith("fc.")}
    fits = {
        key: value for key, value in given.items() if key in own and own[key].shape == value.shape
    }
    if len(fits) < len(own) - 2:
        raise RankotomError(
            f"{path} does not fit this network: {len(fits)} of {len(own) - 2} tensors have the "
            "same name and shape."
        )
    network.load_state_dict(own | fits)
