"""Processes on this machine that read videos, one core each.

A process each, not a thread: a damaged video may crash the decoder. Then that video has failed,
and another process goes on. A worker ends by itself when this process is gone.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from rankotom_edge import interrupts
from rankotom_edge.analyze.read_video import Failure, Outcome, Task, attempt

POLL = 0.2  # seconds, until an interrupt is noticed; chosen by eye
REPORT_EVERY = 0.5  # seconds, for the progress bar; chosen by eye

# A task and how far it is, from 0 to 1, or how it ended.
Step = tuple[Task, float | Outcome]


def read_locally(tasks: Sequence[Task], workers: int) -> Iterator[Step]:
    waiting = list(reversed(tasks))
    busy: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                busy.append(_Worker.start(waiting.pop()))
            interrupts.check()
            ready = wait([worker.connection for worker in busy], POLL)
            for worker in [each for each in busy if each.connection in ready]:
                message = worker.receive()
                yield worker.task, message
                if isinstance(message, float):
                    continue
                if waiting and worker.process.is_alive():
                    worker.begin(waiting.pop())
                else:
                    busy.remove(worker)
                    worker.end()
    finally:
        for worker in busy:
            worker.process.kill()
            worker.end()


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    task: Task

    @classmethod
    def start(cls, task: Task) -> _Worker:
        # A fresh interpreter: neither ONNX Runtime nor OpenCV survives a fork.
        context = multiprocessing.get_context("spawn")
        ends: tuple[Any, Any] = context.Pipe()  # of another type on Windows
        ours, theirs = ends
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        # An interrupt in the middle of it would leave a process that complains.
        with interrupts.delay_interrupts(), _interrupts_blocked():
            process.start()
        theirs.close()  # so that a worker that has died is an end of file here
        worker = cls(process, ours, task)
        worker.begin(task)
        return worker

    def begin(self, task: Task) -> None:
        self.task = task
        with suppress(OSError):  # it has died; receive says so
            self.connection.send(task)

    def receive(self) -> float | Outcome:
        try:
            message: float | Outcome = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            return Failure(f"the process that read it {_ended(self.process.exitcode)}")
        return message

    def end(self) -> None:
        self.connection.close()
        self.process.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process that is started meanwhile never hears Ctrl-C, not even while it imports."""
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which unblocks interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _work(connection: Connection) -> None:
    import cv2

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be blocked
    cv2.setNumThreads(1)
    reported = 0.0

    def report(share: float) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= REPORT_EVERY:
            reported = now
            connection.send(share)

    with suppress(EOFError, OSError):  # the process that started this one is gone
        while True:
            connection.send(attempt(connection.recv(), report))
