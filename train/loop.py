"""The training algorithm: Rank-O-ToM as in the paper, or one of its rivals.

for each epoch
  for each batch of faces
    the method's loss (train/methods: rank_o_tom.py is the paper's Eq. 1 to 6)
    -> gradients -> Adam
  the method's state: Rank-O-ToM's new thresholds, SCN's new labels
  the checkpoint, so that a run that is killed goes on bit for bit
"""

import copy
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Adam, AdamW, Optimizer

from calib.errors import RankotomError
from train.augment import scale_pixels
from train.batches import Batch, TrainingFaces, batches, derived_seed, steps_per_epoch
from train.checkpoint import explain_damage, load_checkpoint, load_weights, resume, save_checkpoint
from train.methods.method import Method, StepResult
from train.methods.registry import build_method
from train.networks import build_network
from train.progress import OverallProgress, RunLog
from train.ranks import Ranks, share_batch_statistics
from train.recipe import Recipe

CHECKPOINT = "checkpoint.safetensors"


def train(
    recipe: Recipe,
    faces: TrainingFaces,
    run: Path,
    ranks: Ranks,
    weights: Path | None = None,
    overall: OverallProgress | None = None,
) -> Path:
    """Run a recipe to its end, resuming from the checkpoint in the run's folder if there is one."""
    training = begin(recipe, faces, run, ranks, weights)
    network, averaged, method = training.network, training.averaged, training.method
    path, steps = run / CHECKPOINT, steps_per_epoch(recipe, faces)
    with RunLog(run, recipe, done=training.done, enabled=ranks.is_leader, overall=overall) as log:
        for epoch in range(training.done, recipe.epochs):
            log.start_epoch(epoch, steps)
            for step, batch in enumerate(batches(recipe, faces, epoch, ranks, ranks.device)):
                result = training.step(batch)
                update_average(averaged, network, recipe.ema, step + epoch * steps)
                loss = result.loss.item() / ranks.world
                log.step(*ranks.totals(loss, result.offered, result.kept))

            remark = method.end_epoch(epoch)
            if ranks.is_leader:
                logits = predict(averaged, faces.choose, recipe.size_at(epoch), ranks.device)
                # The row before the checkpoint: a run killed in between repeats the epoch and
                # rewrites its row. In the other order the row would be lost.
                log.end_epoch(method.state(), logits, faces.choose_labels, remark)
                save_checkpoint(
                    path,
                    recipe=recipe,
                    epoch=epoch + 1,
                    network=network,
                    averaged=averaged,
                    optimizer=training.optimizer,
                    method=method.state(),
                )
    return path


@dataclass(frozen=True, eq=False)
class Training:
    """What a run changes, with ``done`` epochs behind it."""

    recipe: Recipe
    network: nn.Module
    averaged: nn.Module  # the model
    optimizer: Optimizer
    method: Method
    done: int

    def step(self, batch: Batch) -> StepResult:
        set_learning_rate(self.optimizer, self.recipe, batch.progress)
        result = self.method.step(batch)
        self.optimizer.zero_grad(set_to_none=True)
        result.loss.backward()
        self.optimizer.step()
        return result


def begin(
    recipe: Recipe, faces: TrainingFaces, run: Path, ranks: Ranks, weights: Path | None = None
) -> Training:
    """From the checkpoint in the run's folder if there is one, else from ``weights`` or random."""
    faces.check(recipe)
    check_precision(recipe, ranks.device)
    torch.manual_seed(derived_seed(recipe.seed, "weights"))
    network: nn.Module = build_network(
        recipe.network,
        channels=recipe.channels,
        classes=len(faces.classes),
        dropout=recipe.dropout,
        importance=recipe.method == "scn",
    )
    if weights is not None:
        load_weights(weights, network)
    if ranks.world > 1:
        share_batch_statistics(network)
    network = channels_last(network.to(ranks.device))
    averaged = copy.deepcopy(network).eval()
    optimizer = build_optimizer(recipe, network)
    method = build_method(recipe, faces, network, ranks)

    path, done = run / CHECKPOINT, 0
    if path.exists():
        checkpoint = load_checkpoint(path)
        with explain_damage(path):
            resume(checkpoint, path, recipe, network, averaged, optimizer)
            method.restore(checkpoint.method)
        done = checkpoint.epoch
    return Training(recipe, network, averaged, optimizer, method, done)


def check_precision(recipe: Recipe, device: torch.device) -> None:
    """Refuse bfloat16 on a CPU without instructions for it, where it is much slower."""
    can = torch.cpu.get_capabilities()
    if recipe.bfloat16 and device.type == "cpu" and not (can.get("avx512_bf16") or can.get("bf16")):
        raise RankotomError(
            "This CPU has no bfloat16 instructions (AVX-512 BF16), so training would be slower. "
            "Leave --bfloat16 out."
        )


def channels_last(network: nn.Module) -> nn.Module:
    """Convolution weights in the memory layout that is fastest on CPUs and tensor cores."""
    for weight in network.parameters():
        if weight.ndim == 4:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)
    return network


@torch.inference_mode()
def predict(
    network: nn.Module, faces: NDArray[np.uint8], size: int, device: torch.device
) -> Tensor:
    """Logits (n, k) of unaugmented faces, resized to the size of training."""
    logits = []
    for part in np.array_split(faces, max(1, len(faces) // 256)):
        pixels = scale_pixels(torch.from_numpy(np.array(part)).to(device))
        if pixels.shape[-1] != size:
            pixels = functional.interpolate(pixels, size=(size, size), mode="bilinear")
        logits.append(network(pixels).float().cpu())
    return torch.cat(logits)


def build_optimizer(recipe: Recipe, network: nn.Module) -> Optimizer:
    # The last layer is apart only where it has a rate of its own.
    head = list(network.get_submodule("fc").parameters()) if recipe.head_rate != 1 else []
    body = [p for p in network.parameters() if not any(p is each for each in head)]
    groups: list[dict[str, Any]] = []
    for members, times in ((body, 1.0), (head, recipe.head_rate)):
        # Decay pulls on weights only: a batch norm's scale or a bias has nothing to unlearn.
        matrices, vectors = [p for p in members if p.ndim > 1], [p for p in members if p.ndim <= 1]
        groups += [
            {"params": matrices, "weight_decay": recipe.weight_decay, "times": times},
            {"params": vectors, "weight_decay": 0.0, "times": times},
        ]
    groups = [group for group in groups if group["params"]]
    kind = AdamW if recipe.optimizer == "adamw" else Adam
    return kind(groups, lr=recipe.learning_rate)


def set_learning_rate(optimizer: Optimizer, recipe: Recipe, progress: float) -> None:
    """``progress`` through the run, from 0 to 1; one-cycle rises for a tenth, then a cosine."""
    rate = recipe.learning_rate
    if recipe.schedule == "one-cycle":
        rise = 0.1
        if progress < rise:
            rate *= 0.04 + 0.96 * progress / rise
        else:
            rate *= 0.5 * (1 + math.cos(math.pi * (progress - rise) / (1 - rise)))
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("times", 1.0)


@torch.no_grad()
def update_average(averaged: nn.Module, network: nn.Module, decay: float, step: int) -> None:
    """Exponential moving average of the weights, with a smaller decay at first; buffers are copied.

    Not torch's AveragedModel: its step counter would be one more thing to save and to restore.
    """
    decay = min(decay, (1 + step) / (10 + step))
    for mean, value in zip(averaged.parameters(), network.parameters(), strict=True):
        mean.lerp_(value, 1 - decay)
    for kept, buffer in zip(averaged.buffers(), network.buffers(), strict=True):
        kept.copy_(buffer)
