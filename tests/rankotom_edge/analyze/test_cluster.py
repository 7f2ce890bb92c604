"""A real Dask scheduler with two workers on loopback, one of which is killed in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed")

PATIENCE = 180.0


class Cluster(NamedTuple):
    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


def start(module: str, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=log.parent,
        )


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    file = tmp_path / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard")
    place = ("--port", "0", "--scheduler-file", str(file))
    scheduler = start("dask_scheduler", *here, *place, log=tmp_path / "scheduler.log")
    workers: list[subprocess.Popen[bytes]] = []
    try:
        wait_for("a scheduler", lambda: file.exists() and file.stat().st_size > 0)
        address = json.loads(file.read_text())["address"]
        assert "127.0.0.1" in address
        for number in range(2):
            options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
            log = tmp_path / f"worker {number}.log"
            workers.append(start("dask_worker", address, *here, *options, log=log))
        registered = "Registered to"
        logs = [tmp_path / f"worker {number}.log" for number in range(2)]
        wait_for("two workers", lambda: all(registered in log.read_text() for log in logs))
        yield Cluster(address, scheduler, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def analyze(archive: Path, output: Path, *options: str) -> subprocess.Popen[str]:
    command = ["analyze", str(archive), "--output", str(output), "--format", "csv", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_cluster_whose_worker_dies_gives_the_same_tables_as_one_machine(
    cluster: Cluster, archive: Path, tmp_path: Path
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    running = analyze(archive, there, "--cluster", cluster.address)
    records = there / "records"
    wait_for("a first table", lambda: running.poll() is not None or any(records.rglob("*.json")))
    assert running.poll() is None
    cluster.workers[0].kill()
    output, errors = running.communicate(timeout=PATIENCE)
    assert len(contents(there / "tables")) == 20
    assert running.returncode == 1, errors  # for broken.mp4, on both
    assert "clips/broken.mp4" in output
    alone = analyze(archive, here, "--workers", "1")
    alone.communicate(timeout=PATIENCE)
    assert contents(there) == contents(here)


def test_a_cluster_without_workers_is_waited_for_until_its_scheduler_dies(
    cluster: Cluster, archive: Path, tmp_path: Path
) -> None:
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    log = tmp_path / "scheduler.log"
    wait_for("the loss of both", lambda: log.read_text().count("Remove worker") == 2)
    running = analyze(archive, tmp_path / "out", "--cluster", cluster.address)
    assert running.stderr is not None
    said = running.stderr.readline()
    assert said == f"note: the cluster at {cluster.address} has no worker yet; waiting for one\n"
    cluster.scheduler.kill()
    _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 2, errors
    assert errors.startswith(f"error: The Dask scheduler at {cluster.address} is gone.")
    assert errors.count("\n") == 1


def test_no_scheduler_is_an_error_of_one_line(archive: Path, tmp_path: Path) -> None:
    running = analyze(archive, tmp_path / "out", "--cluster", "tcp://127.0.0.1:1")
    _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 2
    assert errors.startswith("error: No Dask scheduler answers at tcp://127.0.0.1:1")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("address", ["nowhere", "ftp://127.0.0.1:1"])
def test_an_address_that_is_none_is_an_error_of_one_line(
    address: str, archive: Path, tmp_path: Path
) -> None:
    running = analyze(archive, tmp_path / "out", "--cluster", address)
    _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 2, errors
    assert errors.startswith("error: No Dask scheduler answers at")
    assert errors.count("\n") == 1
