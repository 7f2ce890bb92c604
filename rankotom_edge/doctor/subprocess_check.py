"""A trial in a process of its own, so that what hangs or crashes takes only itself down.

OpenCV aborts the process where it cannot open a window, and a camera may block inside the kernel.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace

from calib.errors import RankotomError
from rankotom_edge.doctor.check import Check, Finding, Trial

PATIENCE = 20.0  # seconds for one trial: ten times the slowest on two busy cores
LETTING_GO = 0.5  # seconds for a killed process to go; inside a driver it may never

# Shared libraries that the OpenCV and MediaPipe wheels expect, with the Debian package of each.
LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb.so.1": "libxcb1",
    "libSM.so.6": "libsm6",
    "libEGL.so.1": "libegl1",
    "libGLESv2.so.2": "libgles2",
}


def examine(
    trials: Iterable[Trial],
    patience: float = PATIENCE,
    about_to: Callable[[str], None] = lambda name: None,
) -> Iterator[Check]:
    """One after the other, so that each is timed alone; a trial may call for further ones."""
    for trial in trials:
        about_to(trial.name)
        found = attempt(trial, patience)
        if isinstance(found, Check):
            yield found
        else:
            yield from examine(found, patience, about_to)


def attempt(trial: Trial, patience: float) -> Check | tuple[Trial, ...]:
    command = [sys.executable, "-m", "rankotom_edge.doctor", trial.function, trial.argument]
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        answer, said = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return _checked(trial, Finding(False, f"no answer in {patience:g} s"), 1000 * patience)
    finally:
        _end(process)
    spent = 1000 * (time.perf_counter() - started)
    if process.returncode != 0 or not answer:
        return _checked(trial, crash(process.returncode, said), spent)
    told = json.loads(answer)
    if "trials" in told:
        return tuple(Trial(**further) for further in told["trials"])
    return _checked(trial, Finding(**told["finding"]), told["ms"])


def _end(process: subprocess.Popen[str]) -> None:
    """It and its children; one that the kernel holds on to is left behind."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(LETTING_GO)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _checked(trial: Trial, finding: Finding, ms: float) -> Check:
    fix = None if finding.ok else finding.fix or trial.fix
    return Check(trial.name, finding.ok, finding.detail, fix, ms, trial.level)


def crash(status: int, said: str) -> Finding:
    """What a process that gave no answer died of, by its status and its last words."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "without a word"
    if status < 0:
        return Finding(False, f"crashed ({signal.Signals(-status).name}): {last}")
    if "numpy.core.multiarray failed to import" in said:
        return Finding(False, "cv2 was built for numpy 1, as JetPack's is", "pip install 'numpy<2'")
    missing = re.search(r"(\S+\.so[.\d]*): cannot open shared object file", said)
    package = LIBRARIES.get(missing[1]) if missing else None
    return Finding(False, last, None if package is None else f"sudo apt-get install {package}")


def answer(function: str, argument: str) -> dict[str, object]:
    """What ``function`` finds, as the process that asked for it reads it."""
    module, _, name = function.partition(":")
    started = time.perf_counter()
    try:
        found = getattr(importlib.import_module(module), name)(argument)
    except RankotomError as error:
        found = Finding(False, str(error))
    spent = 1000 * (time.perf_counter() - started)
    if isinstance(found, Finding):
        return {
            "finding": asdict(replace(found, detail=" ".join(found.detail.split()))),
            "ms": spent,
        }
    return {"trials": [asdict(further) for further in found]}
