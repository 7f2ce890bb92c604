"""The log of a run: a progress bar, and recipe.json and metrics.csv in the run's folder."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from time import monotonic

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from calib.errors import RankotomError
from calib.files import replace_file
from calib.input_files import MEGABYTE, read_input
from calib.metrics import accuracy, ece, nll
from calib.temperature import fit_temperature, softmax
from train.recipe import Recipe

MOST_BYTES = 64 * MEGABYTE  # of metrics.csv


@dataclass(frozen=True)
class EpochRecord:
    """A row of metrics.csv; accuracy and the metrics after it are on the choosing half of valid."""

    epoch: int
    seconds: float
    loss: float
    pseudo_labelled: float  # share of the FR faces offered
    accuracy: float
    ece: float
    temperature: float
    ece_at_temperature: float
    nll_at_temperature: float
    thresholds: str  # of the classes, where the method has them
    remark: str = ""  # what the method says of the epoch


def read_metrics(run: Path) -> list[dict[str, str]]:
    """The rows of a run's metrics.csv, one for each epoch."""
    path = run / "metrics.csv"
    if not path.exists():
        return []
    try:
        rows = list(csv.DictReader(StringIO(read_input(path, MOST_BYTES).decode(), newline="")))
        for row in rows:
            _check_row(row)
    except (UnicodeDecodeError, csv.Error, ValueError, TypeError, KeyError) as error:
        raise RankotomError(
            f"{path} is not as this program writes it ({error!s:.200}). Restore it, or delete the "
            f"folder {run} to start over."
        ) from error
    return rows


def _check_row(row: Mapping[str, str]) -> None:
    int(row["epoch"])
    for each in fields(EpochRecord):
        if each.type in (int, float) and each.name in row:
            float(row[each.name])
    for threshold in (row.get("thresholds") or "").split():
        float(threshold)


class OverallProgress:
    """One bar over several runs, with the time left for all of them."""

    def __init__(self, costs: Sequence[float], epochs: int) -> None:
        """``costs`` are those of an epoch of each run, in any unit."""
        self.bar = Progress(
            TextColumn("run {task.fields[number]}/{task.fields[runs]}  {task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TimeRemainingColumn(),
            speed_estimate_period=600,  # seconds; methods differ in speed
        )
        self.total, self.number, self.cost = sum(costs) * epochs, 0, 0.0
        self.task = self.bar.add_task("", total=self.total, number=0, runs=len(costs))

    def start_run(self, name: str, cost: float) -> None:
        self.number, self.cost = self.number + 1, cost
        self.bar.update(self.task, description=name, number=self.number)

    @property
    def heading(self) -> str:
        task = self.bar.tasks[self.task]
        return f"run {self.number}/{task.fields['runs']}  {task.description}"

    def skip(self, epochs: int) -> None:
        """Epochs that were done before say nothing about the speed of this machine now."""
        self.total -= epochs * self.cost
        self.bar.update(self.task, total=self.total)

    def step(self, steps: int) -> None:
        """One of an epoch's steps is done."""
        self.bar.advance(self.task, self.cost / steps)


class RunLog:
    """Shows and writes the progress of a run; does nothing unless ``enabled``."""

    def __init__(
        self,
        run: Path,
        recipe: Recipe,
        *,
        done: int,
        enabled: bool,
        overall: OverallProgress | None = None,
    ) -> None:
        self.run, self.recipe, self.done, self.enabled = run, recipe, done, enabled
        self.overall = overall
        # Only the epochs that the checkpoint holds; later ones are repeated.
        self.rows = [row for row in read_metrics(run) if int(row["epoch"]) <= done]
        self.console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}{task.fields[kept]}"),
            TimeRemainingColumn(),
        )
        self.live = Live(
            Group(*([overall.bar] if overall else []), self.bar),
            console=self.console,
            refresh_per_second=4,
            transient=overall is not None,  # the next run shows the bar again
        )
        self.task = self.bar.add_task(
            "steps", total=1, epoch=done, epochs=recipe.epochs, loss=0.0, kept=""
        )

    def __enter__(self) -> "RunLog":
        if self.enabled:
            try:
                self.run.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RankotomError(
                    f"The run's folder {self.run} cannot be created: {error.strerror}. "
                    "Choose another with --run."
                ) from error
            with replace_file(self.run / "recipe.json") as file:
                file.write_text(self.recipe.as_json() + "\n")
            if self.overall:
                self.overall.skip(self.done)
                self.console.print(self.overall.heading, style="bold", highlight=False)
            if self.done:
                self.console.print(
                    f"{self.run} has {self.done} of {self.recipe.epochs} epochs"
                    + ("; resuming" if self.done < self.recipe.epochs else " already"),
                    highlight=False,
                    soft_wrap=True,
                )
            if self.console.is_terminal:
                self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()

    def start_epoch(self, epoch: int, steps: int) -> None:
        self.epoch, self.steps, self.started = epoch, steps, monotonic()
        self.losses: list[float] = []
        self.offered = self.kept = 0.0
        self.bar.reset(self.task, total=steps)  # reset() with fields would drop the others
        self.bar.update(self.task, epoch=epoch + 1)

    def step(self, loss: float, offered: float, kept: float) -> None:
        if not math.isfinite(loss):  # stop before a good checkpoint is overwritten
            raise RankotomError(
                f"The loss became {loss} in epoch {self.epoch + 1}; {self.run} keeps the "
                "checkpoint of the epoch before. Try a lower learning rate."
            )
        self.losses.append(loss)
        self.offered += offered
        self.kept += kept if offered else 0
        if self.overall:
            self.overall.step(self.steps)
        kept_words = f" · pseudo-labelled {self._kept_share():.0%}" if self.offered else ""
        self.bar.update(
            self.task, advance=1, loss=float(np.mean(self.losses[-50:])), kept=kept_words
        )

    def _kept_share(self) -> float:
        return self.kept / self.offered if self.offered else 0.0

    def end_epoch(
        self,
        state: Mapping[str, Tensor],
        logits: Tensor,
        labels: NDArray[np.int64],
        remark: str = "",
    ) -> None:
        thresholds = state.get("thresholds", torch.zeros(0)).tolist()
        scores = logits.double().numpy()
        temperature = fit_temperature(scores, labels)
        before, after = softmax(scores), softmax(scores, temperature)
        correct = before.argmax(axis=1) == labels
        record = EpochRecord(
            epoch=self.epoch + 1,
            seconds=round(monotonic() - self.started, 1),
            loss=round(float(np.mean(self.losses)), 5),
            pseudo_labelled=round(self._kept_share(), 4),
            accuracy=round(accuracy(before, labels), 5),
            ece=round(ece(before.max(axis=1), correct), 5),
            temperature=round(temperature, 4),
            ece_at_temperature=round(ece(after.max(axis=1), correct), 5),
            nll_at_temperature=round(nll(after, labels), 5),
            thresholds=" ".join(f"{value:.3f}" for value in thresholds),
            remark=remark,
        )
        self.rows.append({key: str(value) for key, value in asdict(record).items()})
        with (
            replace_file(self.run / "metrics.csv") as file,
            file.open("w", newline="") as output,
        ):
            writer = csv.DictWriter(output, fieldnames=list(asdict(record)))
            writer.writeheader()
            writer.writerows(self.rows)
        self.console.print(
            f"epoch {record.epoch}/{self.recipe.epochs}  {record.seconds:.0f} s  "
            f"loss {record.loss:.3f}  accuracy {record.accuracy:.1%}  ECE {record.ece:.1%} "
            f"({record.ece_at_temperature:.1%} at T {record.temperature:.2f})  "
            f"NLL {record.nll_at_temperature:.3f}"
            + (f"  pseudo-labelled {record.pseudo_labelled:.0%}" if self.offered else "")
            + (f"  thresholds {record.thresholds}" if thresholds else "")
            + (f"  {remark}" if remark else ""),
            highlight=False,
            soft_wrap=True,
        )
