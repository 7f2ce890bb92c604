"""One batch over several processes: torchrun's ranks, and what they must agree on.

Under torchrun the same command trains on several GPUs (nccl) or, without any, on several CPU
processes (gloo). Draws, losses and batch statistics are those of the global batch, so a run over
two processes takes the same steps as a run in one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn
from torch.distributed.nn.functional import all_reduce
from torch.nn.parallel import DistributedDataParallel

from calib.errors import RankotomError


@dataclass(frozen=True)
class Ranks:
    rank: int
    world: int
    device: torch.device

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def part(self, count: int) -> slice:
        """This rank's share of a global batch."""
        if count % self.world:
            raise RankotomError(
                f"A batch of {count} faces can't be shared equally by {self.world} processes; "
                "start torchrun with a number that divides it."
            )
        share = count // self.world
        return slice(self.rank * share, (self.rank + 1) * share)

    def sum(self, values: Tensor) -> Tensor:
        if self.world == 1:
            return values
        total = values.detach().clone().to(self.device)
        distributed.all_reduce(total)
        return total.to(values.device)

    def mean(self, values: Tensor) -> Tensor:
        """The mean over all ranks' values, such that averaging gradients over ranks is right."""
        if self.world == 1:
            return values.sum() / max(len(values), 1)
        count = self.sum(torch.tensor(float(len(values)), device=values.device))
        return values.sum() * self.world / count.clamp(min=1)

    def wrap(self, network: nn.Module) -> nn.Module:
        if self.world == 1:
            return network
        ids = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(network, device_ids=ids)


@contextmanager
def joined_ranks() -> Iterator[Ranks]:
    """The process group that torchrun asks for, or one process alone."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Ranks(0, 1, device)
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Ranks(distributed.get_rank(), world, device)
    finally:
        distributed.destroy_process_group()


class GlobalBatchNorm2d(nn.BatchNorm2d):
    """Batch norm over the global batch; torch's SyncBatchNorm does the same, but not on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        moments = torch.cat(
            [
                x.sum(dim=(0, 2, 3)),
                (x * x).sum(dim=(0, 2, 3)),
                x.new_tensor([x.numel() / x.shape[1]]),
            ]
        )
        together: Tensor = all_reduce(moments)
        total, squares, count = together.split([x.shape[1], x.shape[1], 1])
        mean = total / count
        variance = squares / count - mean * mean
        with torch.no_grad():
            momentum = self.momentum if self.momentum is not None else 0.1
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, momentum)
            self.running_var.lerp_(variance * count / (count - 1), momentum)
        scale: Tensor = self.weight * torch.rsqrt(variance + self.eps)
        shift = self.bias - mean * scale
        normalised: Tensor = x * scale[:, None, None] + shift[:, None, None]
        return normalised


def share_batch_statistics(network: nn.Module) -> None:
    """Every batch norm inside becomes a global one, its parameters and state kept."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = GlobalBatchNorm2d
