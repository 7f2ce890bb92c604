"""The state of a run in one safetensors file, written atomically.

Weights, averaged weights, optimiser state, the method's state and the epoch. No random generator
state is needed: all randomness is a function of (seed, epoch, step).
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, get_args, get_type_hints

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from calib.errors import RankotomError
from calib.input_files import MEGABYTE, check_input
from calib.json_fields import as_mapping, count, load_json, text
from train.recipe import Recipe

FORMAT = "1"
AVERAGED = "averaged"  # the group of the averaged weights, which are the model's
MOST_BYTES = 8 * 1024 * MEGABYTE  # memory-mapped; the state of a ResNet-50 has 400 MB
LARGEST_SIZE = 1024  # pixels of a face
RENAMED = {"spoiled": "damaged"}  # settings of recipes in older checkpoints


@dataclass(frozen=True)
class Checkpoint:
    recipe: dict[str, Any]
    epoch: int  # number of finished epochs
    tensors: dict[str, Tensor]

    def group(self, name: str) -> dict[str, Tensor]:
        """The tensors whose keys start with ``name.``, as a state dict."""
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): value
            for key, value in self.tensors.items()
            if key.startswith(prefix)
        }

    @property
    def method(self) -> dict[str, Tensor]:
        """The method's state: Rank-O-ToM's thresholds, SCN's labels. Their names have no group."""
        return {key: value for key, value in self.tensors.items() if "." not in key}

    @property
    def weights(self) -> dict[str, Tensor]:
        """The model's weights, which are the averaged ones."""
        return self.group(AVERAGED)


def save_checkpoint(
    path: Path,
    *,
    recipe: Recipe,
    epoch: int,
    network: nn.Module,
    averaged: nn.Module,
    optimizer: Optimizer,
    method: Mapping[str, Tensor],
) -> None:
    tensors = dict(method)
    tensors |= {f"network.{key}": value for key, value in network.state_dict().items()}
    tensors |= {f"{AVERAGED}.{key}": value for key, value in averaged.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": value for key, value in state.items()}
    write_checkpoint(path, json.loads(recipe.as_json()), epoch, tensors)


def write_checkpoint(
    path: Path, recipe: dict[str, Any], epoch: int, tensors: dict[str, Tensor]
) -> None:
    tensors = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    metadata = {
        "format": FORMAT,
        "recipe": json.dumps(recipe, sort_keys=True),
        "epoch": str(epoch),
    }
    partial = path.with_name(f".{path.name}.partial")
    try:
        save_file(tensors, partial, metadata)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        kept = f"The previous one is intact: {path}." if path.exists() else ""
        raise RankotomError(
            f"The checkpoint of epoch {epoch} cannot be written to {path.parent}: {error}. {kept} "
            "Free some space and run the same command again to continue."
        ) from error


def load_checkpoint(path: Path) -> Checkpoint:
    check_input(path, MOST_BYTES)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise RankotomError(f"{path} cannot be read as a checkpoint: {error}.") from error
    if metadata.get("format") != FORMAT or not metadata.keys() >= {"recipe", "epoch"}:
        raise RankotomError(
            f"{path} is not a checkpoint of this program: found format {metadata.get('format')}, "
            f"expected format {FORMAT} with a recipe and an epoch."
        )
    with explain_damage(path):
        saved = as_mapping(load_json(metadata["recipe"]))
        recipe = {RENAMED.get(key, key): value for key, value in saved.items()}
        _check_recipe(recipe)
        return Checkpoint(recipe, count({"epoch": load_json(metadata["epoch"])}, "epoch"), tensors)


def _check_recipe(recipe: Mapping[str, Any]) -> None:
    """What a network is built from. An older checkpoint may lack the method, and have other values
    of settings that matter in training alone."""
    text(recipe, "name")
    if "size" in recipe and not 1 <= count(recipe, "size") <= LARGEST_SIZE:
        raise ValueError(f"its faces have {recipe['size']} pixels")
    for name, kind in get_type_hints(Recipe).items():
        if name not in ("dataset", "network", "channels", "method"):
            continue
        if name in recipe and recipe[name] not in get_args(kind):
            known = ", ".join(map(str, get_args(kind)))
            raise ValueError(f"its {name} is {recipe[name]!r:.40}, none of {known}")


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Turns what a damaged checkpoint causes into an error that names it."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise RankotomError(
            f"{path} is not a checkpoint as this program writes it ({reason:.200}). It was "
            "changed or damaged: delete it to start over."
        ) from error


def resume(
    checkpoint: Checkpoint,
    path: Path,
    recipe: Recipe,
    network: nn.Module,
    averaged: nn.Module,
    optimizer: Optimizer,
) -> None:
    """Restore the state of a run; a checkpoint of another recipe is an error."""
    ours = json.loads(recipe.as_json())
    # A setting that is newer than the checkpoint had its default value.
    defaults: dict[str, Any] = json.loads(Recipe(name=recipe.name).as_json())
    theirs = defaults | {
        key: defaults.get(key, {}) | value if isinstance(value, dict) else value
        for key, value in checkpoint.recipe.items()
    }
    differing = sorted(key for key in ours | theirs if ours.get(key) != theirs.get(key))
    if differing:
        found = ", ".join(f"{key} {theirs.get(key)} (not {ours.get(key)})" for key in differing)
        raise RankotomError(
            f"{path} has another recipe, with {found}. Choose another folder with --run, or delete "
            "this one to start over."
        )
    try:
        network.load_state_dict(checkpoint.group("network"))
        averaged.load_state_dict(checkpoint.group(AVERAGED))
    except RuntimeError as error:
        raise RankotomError(
            f"{path} has the recipe of this run but other tensors. Delete it to start over."
        ) from error
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in checkpoint.group("optimizer").items():
        index, _, name = key.partition(".")
        like = parameters[int(index)]
        # In the memory layout of its parameter, so that the next step is the same bit for bit.
        restored = torch.empty_like(like).copy_(value) if value.shape == like.shape else value
        state.setdefault(int(index), {})[name] = restored
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )


def read_weights(path: Path) -> dict[str, Tensor]:
    """Tensors by name from a .safetensors file, or from a .pth file without running its code."""
    check_input(path, MOST_BYTES)
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        given = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, SafetensorError, UnpicklingError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise RankotomError(f"{path} cannot be read as weights: {reason}.") from error
    if not isinstance(given, dict) or not all(
        isinstance(value, Tensor) for value in given.values()
    ):
        raise RankotomError(
            f"{path} holds more than tensors by name. Save the network's state_dict() alone."
        )
    return given


def load_weights(path: Path, network: nn.Module) -> None:
    """Start from a checkpoint's averaged weights, or from any file with torchvision's names.

    Only a checkpoint's last layer is loaded: other files were trained on other classes.
    torchvision's older files lack num_batches_tracked, which is not used here.
    """
    own, given = network.state_dict(), read_weights(path)
    checkpoint = f"{AVERAGED}.fc.weight" in given
    if checkpoint:
        given = {key.removeprefix(f"{AVERAGED}."): value for key, value in given.items()}
    wanted = {
        key
        for key in own
        if (checkpoint or not key.startswith("fc.")) and not key.endswith("num_batches_tracked")
    }
    fits = {key for key in wanted if key in given and given[key].shape == own[key].shape}
    if fits != wanted:
        raise RankotomError(
            f"{path} does not fit this network: {len(fits)} of {len(wanted)} tensors have the "
            f"same name and shape; {min(wanted - fits)} does not."
        )
    network.load_state_dict(own | {key: given[key] for key in wanted})
