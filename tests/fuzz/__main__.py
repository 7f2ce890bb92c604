"""``make fuzz``: thousands of damaged inputs of every kind, each in a process of its own.

    python -m tests.fuzz [--cases 6000] [--seed N] [--only KIND[/NUMBER]]

Fails on a traceback, status 70, a signal, a hang, memory over 2 GB, a control character on the
terminal, or an error that is no clear line. The same seed makes the same inputs. A failing input is
kept in build/fuzz, with the command that reads it. The mutations are our own: they know the parts
of our formats, and hypothesis and atheris would see only bytes.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

from tests.fuzz import files, http
from tests.fuzz.arguments import arguments
from tests.fuzz.processes import Ended, Running, import_program, run_program
from tests.fuzz.seeds import write_seeds

KEPT = Path("build/fuzz")
INPUTS: dict[str, Callable[[Random, Path, Path], list[str]]] = {
    "models": files.models,
    "npz": files.npz,
    "csv": files.csvs,
    "sessions": files.sessions,
    "checkpoints": files.checkpoints,
    "calibrations": files.calibrations,
    "pictures": files.pictures,
    "videos": files.videos,
    "arguments": arguments,
}
HTTP = "http"
SHARES = {"models": 16, "npz": 12, "csv": 10, "sessions": 14, "checkpoints": 8, "calibrations": 6,
          "pictures": 10, "videos": 5, "arguments": 12, HTTP: 16}  # fmt: skip
AT_ONCE = 2


@dataclass
class Count:
    accepted: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0
    largest: int = 0


@dataclass(frozen=True)
class Case:
    kind: str
    number: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.number}"

    @property
    def random(self) -> Random:
        return Random(f"{self.seed}/{self.name}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--only", metavar="KIND[/NUMBER]")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    cases = list_cases(asked.cases, asked.seed, asked.only)
    # The same on every machine, and nothing of whoever runs this is read or changed.
    os.environ |= {"NO_COLOR": "1", "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1"}
    os.environ.pop("DISPLAY", None)
    with tempfile.TemporaryDirectory(prefix="rankotom-fuzz-") as made:
        work = Path(made)
        seeds = work / "seeds"
        seeds.mkdir()
        os.environ["RANKOTOM_DATA"] = str(seeds / "data")
        import_program()
        run_alone(work, lambda: write_seeds(seeds))
        page = http.Page(work / "page", seeds) if any(each.kind == HTTP for each in cases) else None
        try:
            counts = run_cases(cases, work, seeds, page)
        finally:
            if page is not None:
                page.close()
    Console(width=120).print(table(counts))
    faults = [fault for count in counts.values() for fault in count.faults]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def list_cases(count: int, seed: int, only: str | None) -> list[Case]:
    """Of every kind its share, mixed."""
    kind, _, number = (only or "").partition("/")
    if number:
        return [Case(kind, int(number), seed)]
    cases = [
        Case(each, number, seed)
        for each, share in SHARES.items()
        if kind in ("", each)
        for number in range(count if kind else max(1, count * share // sum(SHARES.values())))
    ]
    Random(seed).shuffle(cases)
    return cases


def run_alone(work: Path, act: Callable[[], None]) -> None:
    def run() -> int:
        act()
        return 0

    folder = work / "alone"
    folder.mkdir()
    running = Running(folder, lambda: run)
    while (ended := running.poll()) is None:
        time.sleep(0.01)
    if ended.status != 0:
        raise RuntimeError(f"status {ended.status}: {ended.output.decode(errors='replace')}")


def run_cases(
    cases: list[Case], work: Path, seeds: Path, page: http.Page | None
) -> dict[str, Count]:
    counts = {kind: Count() for kind in SHARES}
    waiting, running = iter(cases), dict[Case, Running]()
    for case in start(waiting, running, work, seeds, page):
        ended = running[case].poll()
        if ended is None:
            continue
        folder = running.pop(case).folder
        fault = ended.fault() or left_behind(folder)
        fault = fault or (page.fault() if page is not None and case.kind == HTTP else None)
        note(counts[case.kind], case, ended, fault)
        if fault is not None:
            keep(folder, case)
        shutil.rmtree(folder, ignore_errors=True)
        if page is not None and page.process.poll() is not None:
            break
    return counts


def start(
    waiting: Iterator[Case],
    running: dict[Case, Running],
    work: Path,
    seeds: Path,
    page: http.Page | None,
) -> Iterator[Case]:
    """Every case that runs, again and again; new ones are started where others ended."""
    more = True
    while more or running:
        while more and len(running) < AT_ONCE:
            case = next(waiting, None)
            if case is None:
                more = False
                break
            folder = work / case.name.replace("/", "-")
            folder.mkdir()
            port = 0 if page is None else page.port
            running[case] = Running(folder, partial(prepare, case, folder, seeds, port))
        yield from list(running)
        time.sleep(0.002)


def prepare(case: Case, folder: Path, seeds: Path, port: int) -> Callable[[], int]:
    random = case.random
    if case.kind == HTTP:
        request = http.make_request(random, port)
        (folder / "request.bin").write_bytes(request)
        return partial(http.send, request, port)
    os.environ["XDG_DATA_HOME"] = str(folder / "home")
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    command = INPUTS[case.kind](random, folder, seeds)
    words = " ".join(shlex.quote(word) for word in ("rankotom-edge", *command))
    (folder / "command.txt").write_bytes(words.encode(errors="surrogateescape") + b"\n")
    return partial(run_program, command)


def left_behind(folder: Path) -> str | None:
    """A temporary file of an output."""
    left = [each.name for each in folder.glob(".*")]
    return f"leaves {left[0]!r} behind" if left else None


def note(count: Count, case: Case, ended: Ended, fault: str | None) -> None:
    count.slowest = max(count.slowest, ended.seconds)
    count.largest = max(count.largest, ended.memory)
    if fault is not None:
        count.faults.append(f"{case.name}: {fault}; again: --seed {case.seed} --only {case.name}")
        print(count.faults[-1], flush=True)
    elif ended.accepted:
        count.accepted += 1
    else:
        count.refused += 1


def keep(folder: Path, case: Case) -> None:
    kept = KEPT / f"{case.seed}-{case.name.replace('/', '-')}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder, kept, symlinks=True, ignore=lambda _, names: {"fifo.npz"} & {*names})


def table(counts: dict[str, Count]) -> Table:
    rows = Table("kind", "cases", "accepted", "refused", "faults", "slowest", "largest")
    for kind, count in counts.items():
        cases = count.accepted + count.refused + len(count.faults)
        numbers = (cases, count.accepted, count.refused, len(count.faults))
        if cases:
            sizes = f"{count.slowest:.1f} s", f"{count.largest / 1024**2:,.0f} MB"
            rows.add_row(kind, *(f"{number:,}" for number in numbers), *sizes)
    return rows


if __name__ == "__main__":
    sys.exit(main())
