"""Runs one case in a process forked from this one, which has imported the program already: a start
takes milliseconds instead of seconds. Limits its time and memory, and judges how it ended."""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOST_MEMORY = 2 * 1024**3  # resident, of a case
# Above it, so that what asks for too much is measured and not only refused; the machine survives.
MOST_ADDRESSES = 2 * MOST_MEMORY
# By the clock, without what it computed and what it waited for a core: others use this machine too.
MOST_IDLE = 60.0
MOST_COMPUTED = 60  # seconds of a core
LONGEST_ERROR = 1200  # characters: a line or two, with the names of files
CONTROL = re.compile(rb"[^\x20-\x7e\x80-\xff\r\n\t]")
TOO_LITTLE_MEMORY = b"needs more memory than there is"
OUTPUT = "output.txt"


@dataclass(frozen=True)
class Ended:
    status: int  # negative: the signal that ended it
    seconds: float
    memory: int
    output: bytes

    @property
    def accepted(self) -> bool:
        return self.status in (0, 1)

    def fault(self) -> str | None:
        """What should never happen, whatever the input."""
        if self.memory > MOST_MEMORY or TOO_LITTLE_MEMORY in self.output:
            return f"memory: {self.memory / 1024**2:,.0f} MB"
        if self.status in (-signal.SIGKILL, -signal.SIGXCPU):
            return f"hang: {self.seconds:.0f} s"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        if b"Traceback" in self.output or self.status == 70:
            return "traceback"
        if self.status not in (0, 1, 2):
            return f"status {self.status}"
        if found := CONTROL.search(self.output):
            return f"prints the control character {found[0]!r}"
        error = re.search(rb"^error: .*", self.output, re.DOTALL | re.MULTILINE)
        if error is not None and len(error[0]) > LONGEST_ERROR:
            return f"an error of {len(error[0]):,} characters"
        if self.status == 2 and error is None and b" Error " not in self.output:  # typer's
            return "status 2 without an error"
        return None


class Running:
    """``prepare`` makes the input in the folder and returns what to run; it counts as no case of
    the program if it fails."""

    def __init__(self, folder: Path, prepare: Callable[[], Callable[[], int]]) -> None:
        self.folder = folder
        self._started = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if self._process == 0:
            status = 99
            try:
                status = _run_child(folder, prepare)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)

    def poll(self) -> Ended | None:
        """None while it runs; a process that takes too long is killed."""
        seconds = time.monotonic() - self._started
        process, status, used = os.wait4(self._process, os.WNOHANG)
        if process == 0 and seconds - _busy_seconds(self._process) > MOST_IDLE:
            os.kill(self._process, signal.SIGUSR1)  # it prints where it hangs
            time.sleep(1)
            os.kill(self._process, signal.SIGKILL)
            process, status, used = os.wait4(self._process, 0)
        if process == 0:
            return None
        _kill_group(self._process)
        output = (self.folder / OUTPUT).read_bytes()
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, seconds, used.ru_maxrss * 1024, output)


def import_program() -> None:
    """Once, before the first case; nothing here starts a thread, which a fork would lose."""
    import cv2
    import matplotlib
    import mediapipe  # noqa: F401
    import torch  # noqa: F401

    import rankotom_edge.cli.app
    import rankotom_edge.live.build
    import rankotom_edge.live.loop
    import rankotom_edge.recording.session
    import rankotom_edge.views.window.snapshot
    import rankotom_edge.views.window.summary_picture  # noqa: F401

    cv2.setNumThreads(1)
    matplotlib.use("Agg")
    gc.collect()
    gc.freeze()  # else the collector would copy every page that is shared with this process


def run_program(arguments: list[str]) -> int:
    """The command line in this process; its exit status."""
    from rankotom_edge.cli.app import main

    sys.argv = ["rankotom-edge", *arguments]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _run_child(folder: Path, prepare: Callable[[], Callable[[], int]]) -> int:
    os.setsid()
    os.chdir(folder)
    output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, output, output)):
        os.dup2(file, number)
    run = prepare()
    resource.setrlimit(resource.RLIMIT_AS, (_addresses() + MOST_ADDRESSES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_COMPUTED, MOST_COMPUTED + 1))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    status = run()
    for thread in threading.enumerate():  # as Python does when it ends
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _busy_seconds(process: int) -> float:
    """That its threads computed, or waited for a core."""
    nanoseconds = 0
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):
            nanoseconds += sum(map(int, thread.read_text().split()[:2]))
    return nanoseconds / 1e9


def _addresses() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _kill_group(leader: int) -> None:
    """What it started and left behind."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
