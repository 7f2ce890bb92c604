"""One batch over several processes, the ranks of torchrun.

Under torchrun the same command trains on several GPUs (nccl) or, without GPUs, in several CPU
processes (gloo). Random draws, losses and batch statistics are those of the global batch, so a run
in two processes takes the same steps as in one, except for dropout, which is drawn by each rank.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed, nn
from torch.distributed.nn.functional import all_reduce
from torch.nn.parallel import DistributedDataParallel

from calib.errors import RankotomError

# The others wait while the leader crops a data set: hours for AffectNet on a slow disk.
TIMEOUT = timedelta(hours=6)


@dataclass(frozen=True)
class Ranks:
    rank: int
    world: int
    device: torch.device

    @property
    def is_leader(self) -> bool:
        return self.rank == 0

    def part(self, count: int, together: int = 1) -> slice:
        """This rank's part of ``count`` faces, in groups of ``together`` that stay on one rank."""
        if count % (self.world * together):
            raise RankotomError(
                f"{count} faces of a batch cannot be divided equally among {self.world} "
                f"{'process' if self.world == 1 else 'processes'}"
                f"{', in pairs' if together == 2 else ''}. "
                "Change the number of processes of torchrun, or the batch."
            )
        share = count // self.world
        return slice(self.rank * share, (self.rank + 1) * share)

    def sum(self, values: Tensor) -> Tensor:
        if self.world == 1:
            return values
        total = values.detach().clone().to(self.device)
        distributed.all_reduce(total)
        return total.to(values.device)

    def totals(self, *numbers: float) -> tuple[float, ...]:
        return tuple(self.sum(torch.tensor(numbers, dtype=torch.float64)).tolist())

    @contextmanager
    def leader_first(self) -> Iterator[None]:
        """The others wait until the leader has finished the block, and then run it themselves."""
        if not self.is_leader:
            try:
                distributed.barrier()
            except RuntimeError as error:  # the connection is closed
                raise RankotomError("The leading process ended; see its error.") from error
        yield
        if self.is_leader and self.world > 1:
            distributed.barrier()

    def mean(self, values: Tensor) -> Tensor:
        """The mean over all ranks' values, scaled for gradients that are averaged over ranks."""
        if self.world == 1:
            return values.sum() / max(len(values), 1)
        count = self.sum(torch.tensor(float(len(values)), device=values.device))
        return values.sum() * self.world / count.clamp(min=1)

    def gather(self, values: Tensor, places: Tensor, count: int) -> Tensor:
        """One value for each face of the global batch, (count,), with gradients into ``values``.

        Every rank gets the same and may compute the same loss from it: the sum of the gradients
        over ranks is ``world`` times that of one, and DistributedDataParallel divides by it.
        """
        whole = values.new_zeros(count).index_copy(0, places, values)
        if self.world == 1:
            return whole
        together: Tensor = all_reduce(whole)
        return together

    def wrap(self, network: nn.Module) -> nn.Module:
        if self.world == 1:
            return network
        ids = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(network, device_ids=ids)


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """Join torchrun's process group, or be a single rank without torchrun."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Ranks(0, 1, device)
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT)
    try:
        yield Ranks(distributed.get_rank(), world, device)
    finally:
        distributed.destroy_process_group()


class GlobalBatchNorm2d(nn.BatchNorm2d):
    """Batch norm over the global batch; torch's SyncBatchNorm does this only on a GPU."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        wide = x.float()  # FP16 has too few digits for sums over a batch
        total, count = self._global_sum(wide)
        mean = total / count
        centred = wide - mean[:, None, None]
        squares, _ = self._global_sum(centred * centred)
        variance = squares / count
        with torch.no_grad():
            assert self.momentum is not None
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(squares / (count - 1), self.momentum)
        scale: Tensor = self.weight * torch.rsqrt(variance + self.eps)
        normalised: Tensor = centred * scale[:, None, None] + self.bias[:, None, None]
        return normalised.to(x.dtype)

    def _global_sum(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Sum and number of the values of all ranks, by channel."""
        here = values.new_tensor([values.numel() / values.shape[1]])
        together: Tensor = all_reduce(torch.cat([values.sum(dim=(0, 2, 3)), here]))
        return together[:-1], together[-1]


def share_batch_statistics(network: nn.Module) -> None:
    """Turn every batch norm into a global one, with its parameters and state."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = GlobalBatchNorm2d
