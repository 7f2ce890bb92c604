"""The training algorithm, top to bottom: Rank-O-ToM as in the paper.

FER faces with labels, FR faces without
  -> two weak views of each FR face; a pseudo-label if a class passes its threshold
  -> blends: the upper half of one face on the lower half of the other, with mixed labels
  -> focal loss on all of them, ranking loss on the confidences of blends and originals
  -> after each epoch, new thresholds from the confidence of the correct FER faces
"""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
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
from train.augment import augment, scale_pixels
from train.batches import Batch, TrainingFaces, batches, derived_seed, steps_per_epoch
from train.blend import blend_faces, blend_labels, smooth_blend
from train.checkpoint import load_checkpoint, load_weights, resume, save_checkpoint
from train.losses import (
    cross_entropy,
    focal,
    ranking,
    ranking_by_class,
    ranking_by_logit,
    ranking_by_targets,
)
from train.networks import build_network
from train.progress import RunLog
from train.pseudo_labels import CorrectConfidence, pseudo_label, update_thresholds
from train.ranks import Ranks, share_batch_statistics
from train.recipe import Recipe


def train(
    recipe: Recipe, faces: TrainingFaces, run: Path, ranks: Ranks, weights: Path | None = None
) -> Path:
    """Run a recipe to its end, resuming from the checkpoint in the run's folder if there is one."""
    faces.check(recipe)
    check_precision(recipe, ranks.device)
    torch.manual_seed(derived_seed(recipe.seed, "weights"))
    network: nn.Module = build_network(
        recipe.network, channels=recipe.channels, classes=len(faces.classes), dropout=recipe.dropout
    )
    if weights is not None:
        load_weights(weights, network)
    if ranks.world > 1:
        share_batch_statistics(network)
    network = channels_last(network.to(ranks.device))
    averaged = copy.deepcopy(network).eval()
    optimizer = build_optimizer(recipe, network)
    thresholds = torch.full((len(faces.classes),), recipe.threshold_start, dtype=torch.float64)

    path, first = run / "checkpoint.safetensors", 0
    if path.exists():
        checkpoint = load_checkpoint(path)
        resume(checkpoint, path, recipe, network, averaged, optimizer)
        thresholds, first = checkpoint.thresholds, checkpoint.epoch

    parallel = ranks.wrap(network)
    steps = steps_per_epoch(recipe, faces)
    with RunLog(run, recipe, done=first, enabled=ranks.is_leader) as log:
        for epoch in range(first, recipe.epochs):
            log.start_epoch(epoch, steps)
            correct = CorrectConfidence.empty(len(faces.classes))
            for step, batch in enumerate(batches(recipe, faces, epoch, ranks, ranks.device)):
                set_learning_rate(optimizer, recipe, (epoch + step / steps) / recipe.epochs)
                result = rank_o_tom(recipe, parallel, network, batch, thresholds, epoch, ranks)
                optimizer.zero_grad(set_to_none=True)
                result.loss.backward()
                optimizer.step()
                update_average(averaged, network, recipe.ema, step + epoch * steps)
                correct.add(result.probabilities, batch.labels)
                loss = result.loss.item() / ranks.world
                log.step(*ranks.totals(loss, result.offered, result.kept))

            total, count = ranks.sum(correct.total), ranks.sum(correct.count)
            thresholds = update_thresholds(
                thresholds, CorrectConfidence(total, count), epoch + 1, beta=recipe.threshold_beta
            )
            if ranks.is_leader:
                logits = predict(averaged, faces.choose, recipe.size_at(epoch), ranks.device)
                # The row before the checkpoint: a run killed in between repeats the epoch and
                # rewrites its row. In the other order the row would be lost.
                log.end_epoch(thresholds, logits, faces.choose_labels)
                save_checkpoint(
                    path,
                    recipe=recipe,
                    epoch=epoch + 1,
                    network=network,
                    averaged=averaged,
                    optimizer=optimizer,
                    thresholds=thresholds,
                )
    return path


@dataclass(frozen=True)
class StepResult:
    loss: Tensor
    probabilities: Tensor  # of the FER faces
    offered: int  # FR faces in the batch
    kept: int  # of those, with a pseudo-label


def rank_o_tom(
    recipe: Recipe,
    parallel: nn.Module,
    network: nn.Module,
    batch: Batch,
    thresholds: Tensor,
    epoch: int,
    ranks: Ranks,
) -> StepResult:
    """The loss of one step: Eq. 1 to 6 on one batch."""
    size = recipe.size_at(epoch)
    count, blends = len(batch.fer), len(batch.fer_above)

    # The originals: FER faces, then the FR faces with a pseudo-label (Eq. 5 and 6).
    pixels, labels, targets = batch.fer, batch.labels, batch.targets
    faces = augment(batch.fer, batch.draws, size)
    first = torch.arange(blends, device=faces.device)
    second = first ^ 1  # without FR faces, neighbours of the shuffled batch blend with each other
    chosen = torch.ones_like(first, dtype=torch.bool)
    if batch.fr is not None:
        view_a, view_b, trained = (augment(batch.fr, draws, size) for draws in batch.fr_draws)
        with torch.no_grad(), evaluation_mode(network), precision(recipe, faces.device):
            opinion_a, opinion_b = (
                network(view).float().softmax(dim=1) for view in (view_a, view_b)
            )
        pseudo = pseudo_label(opinion_a, opinion_b, thresholds, top_only=recipe.pseudo_top_only)
        chosen = pseudo.kept
        pixels = torch.cat([pixels, batch.fr[chosen]])
        faces = torch.cat([faces, trained[chosen]])
        labels = torch.cat([labels, pseudo.labels[chosen]])
        targets = torch.cat([targets, pseudo.targets(recipe.pseudo_targets)[chosen]])
        second = count + chosen.cumsum(0) - 1
    kept = int(chosen.sum())
    if recipe.blends and recipe.ranking == "fixed":
        # The appendix blends "facial images with different labels".
        chosen = chosen & (labels[first] != labels[second])
    first, second, fer_above = first[chosen], second[chosen], batch.fer_above[chosen]

    # The blends (Eq. 2): cut from unaugmented pictures, then augmented as one face.
    originals = len(faces)
    if recipe.blends:
        upper, lower = torch.where(fer_above, first, second), torch.where(fer_above, second, first)
        blended = blend_faces(pixels[upper], pixels[lower])
        if recipe.ranking != "fixed":
            blended[::2] = smooth_blend(pixels[upper[::2]], pixels[lower[::2]])
        faces = torch.cat([faces, augment(blended, batch.blend_draws.part(chosen.cpu()), size)])
        targets = torch.cat([targets, blend_labels(targets[upper], targets[lower])])

    torch.manual_seed(batch.seed + ranks.rank)  # dropout
    faces = faces.contiguous(memory_format=torch.channels_last)
    with precision(recipe, faces.device):
        # One pass for all: with blends in a pass of their own accuracy collapsed (docs/results.md).
        logits = parallel(faces)
    logits = logits.float()
    labelled = originals if recipe.ranking == "logits" else len(faces)  # RankMixup: no blends
    tilted = logits[:labelled] + batch.tilt
    loss = ranks.mean(label_loss(recipe, tilted, targets[:labelled]))
    if recipe.blends and recipe.ranking_weight > 0:
        terms = ranking_terms(recipe, logits, targets, labels, first, second)
        loss = loss + recipe.ranking_weight * ranks.mean(terms)
    offered = 0 if batch.fr is None else blends
    return StepResult(loss, logits[:count].softmax(dim=1), offered, kept)


def ranking_terms(
    recipe: Recipe, logits: Tensor, targets: Tensor, labels: Tensor, first: Tensor, second: Tensor
) -> Tensor:
    """Eq. 1 or another reading of it: one value for each blend. Blends are the last logits."""
    originals, probabilities = len(logits) - len(first), logits.softmax(dim=1)
    confidence, peak = probabilities.max(dim=1).values, targets.max(dim=1).values
    blend, different = confidence[originals:], labels[first] != labels[second]
    if recipe.ranking == "fixed":
        return ranking(blend, confidence[first], confidence[second], margin=recipe.ranking_margin)

    def term(face: Tensor) -> Tensor:
        if recipe.ranking == "targets":
            return ranking_by_targets(blend, confidence[face], peak[originals:], peak[face])
        if recipe.ranking == "logits":
            return different * ranking_by_logit(logits[originals:], logits[face])
        own, of_face = labels[face], probabilities[face]
        return different * ranking_by_class(
            probabilities[originals:], of_face, own, margin=recipe.ranking_margin
        )

    return term(first) + term(second)


def precision(recipe: Recipe, device: torch.device) -> torch.autocast:
    """Convolutions in bfloat16: always on a GPU, on a CPU if the recipe says so."""
    return torch.autocast(
        device.type, torch.bfloat16, enabled=device.type == "cuda" or recipe.bfloat16
    )


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


def label_loss(recipe: Recipe, logits: Tensor, targets: Tensor) -> Tensor:
    if recipe.loss == "cross-entropy":
        return cross_entropy(logits, targets)
    return focal(logits, targets, gamma=recipe.focal_gamma, alpha=recipe.focal_alpha)


@contextmanager
def evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Running statistics and no dropout inside the block."""
    network.eval()
    try:
        yield
    finally:
        network.train()


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
