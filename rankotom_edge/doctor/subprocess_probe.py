"""Runs a probe in a process of its own, so that one that hangs or crashes takes down only itself.

OpenCV aborts the process when it cannot open a window; a camera may block inside the kernel.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace

from calib.errors import RankotomError
from rankotom_edge.doctor.check import Check, Finding, Probe
from rankotom_edge.system_libraries import install_command, missing_libraries, named_library

TIMEOUT = 20.0  # seconds for one probe. Chosen by eye, for two busy cores
KILL_SECONDS = 0.5  # for a killed process to end; inside a driver it may never


def run_probes(
    probes: Iterable[Probe],
    timeout: float = TIMEOUT,
    on_start: Callable[[str], None] = lambda name: None,
) -> Iterator[Check]:
    """One after the other, so that each is timed alone; a probe may return further ones."""
    for probe in probes:
        on_start(probe.name)
        found = run_probe(probe, timeout)
        if isinstance(found, Check):
            yield found
        else:
            yield from run_probes(found, timeout, on_start)


def run_probe(probe: Probe, timeout: float) -> Check | tuple[Probe, ...]:
    command = [sys.executable, "-m", "rankotom_edge.doctor", probe.function, probe.argument]
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
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return _check(probe, Finding(False, f"no answer in {timeout:g} s"), 1000 * timeout)
    finally:
        end(process)
    ms = 1000 * (time.perf_counter() - started)
    if process.returncode != 0 or not output:
        return _check(probe, explain_crash(process.returncode, errors), ms)
    answer = json.loads(output)
    if "probes" in answer:
        return tuple(Probe(**further) for further in answer["probes"])
    return _check(probe, Finding(**answer["finding"]), answer["ms"])


def run_here(function: str, argument: str) -> dict[str, object]:
    """Call a probe's function in this process; the answer as JSON for ``run_probe``."""
    module, _, name = function.partition(":")
    started = time.perf_counter()
    try:
        found = getattr(importlib.import_module(module), name)(argument)
    except RankotomError as error:
        found = Finding(False, str(error))
    ms = 1000 * (time.perf_counter() - started)
    if isinstance(found, Finding):
        one_line = replace(found, detail=" ".join(found.detail.split()))
        return {"finding": asdict(one_line), "ms": ms}
    return {"probes": [asdict(further) for further in found]}


def explain_crash(status: int, errors: str) -> Finding:
    """Why a process gave no answer, by its exit status and its standard error."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else "without a message"
    if status < 0:
        return Finding(False, f"crashed ({signal.Signals(-status).name}): {last}")
    if "numpy.core.multiarray failed to import" in errors:
        return Finding(False, "cv2 was built for numpy 1, as JetPack's is", "pip install 'numpy<2'")
    library = named_library(errors)
    if library is None:
        return Finding(False, last)
    return Finding(False, last, install_command((library, *missing_libraries())))


def end(process: subprocess.Popen[str]) -> None:
    """Kill it and its children, all in a session of their own; one that is stuck in the kernel is
    left behind."""
    if process.poll() is None:
        if sys.platform == "win32":
            process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(KILL_SECONDS)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _check(probe: Probe, finding: Finding, ms: float) -> Check:
    fix = None if finding.ok else finding.fix or probe.fix
    return Check(probe.name, finding.ok, finding.detail, fix, ms, probe.level)
