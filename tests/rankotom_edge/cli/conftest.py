"""The command line in this process and in others, and three models' predictions to measure."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rankotom_edge.cli.app import main


class Finished(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def _run(*arguments: str, **environment: str) -> Finished:
    """In this process, as the console script does it: quick, with real files and real output."""
    output, errors = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["rankotom-edge", *arguments])
        for name, value in {"COLUMNS": "80", "NO_COLOR": "1", **environment}.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    return Finished(int(ended.value.code or 0), output.getvalue(), errors.getvalue())


@pytest.fixture(scope="session")
def run() -> Callable[..., Any]:
    return _run


def _start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli.app", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80", **environment},
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="session")
def start() -> Callable[..., Any]:
    return _start


def _loaded_modules(*arguments: str) -> set[str]:
    """The top-level modules in a fresh interpreter once the command has run."""
    script = (
        "import sys; from rankotom_edge.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return set(finished.stdout.rpartition("LOADED")[2].split())


@pytest.fixture(scope="session")
def loaded_modules() -> Callable[..., Any]:
    return _loaded_modules


def _unread(*arguments: str) -> tuple[int, str]:
    """Status and complaints, with a standard output that no one reads."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli.app", *arguments],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    os.close(write_end)
    return finished.returncode, finished.stderr


@pytest.fixture(scope="session")
def unread() -> Callable[..., Any]:
    return _unread


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three models on the same 400 faces: one, nearly the same one, and a far worse one."""
    folder = tmp_path_factory.mktemp("predictions")
    random = np.random.default_rng(0)
    logits = random.normal(scale=2.0, size=(400, 8))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([random.choice(8, p=row) for row in shares])
    votes = np.array([random.multinomial(10, row) for row in shares])
    paths = {}
    for name, noise in (("good", 0.0), ("near", 1e-4), ("bad", 3.0)):
        noisy = logits + random.normal(scale=noise, size=logits.shape)
        paths[name] = folder / f"{name}.npz"
        np.savez(paths[name], logits=noisy, labels=labels, votes=votes)
    return paths
