"""One folder for what an export writes on its way, gone at its end whatever ended it."""

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import rmtree

from export.interrupts import interrupts_to


@contextmanager
def scratch() -> Iterator[None]:
    """Temporary files, ours and ONNX Runtime's, lie in it.

    A signal that arrives while a temporary folder is being removed leaves it half removed for
    good; here it waits until that is done.
    """
    with _undisturbed():
        before, folder = tempfile.tempdir, tempfile.mkdtemp(prefix="rankotom-")
        tempfile.tempdir = folder
    try:
        yield
    finally:
        with _undisturbed():
            tempfile.tempdir = before
            rmtree(folder, ignore_errors=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """By handlers of our own: to block a signal in this thread would only send it to another."""
    if threading.current_thread() is not threading.main_thread():
        yield  # which no signal disturbs
        return
    arrived: list[int] = []
    with interrupts_to(lambda number, _: arrived.append(number)):
        yield
    if arrived:
        signal.raise_signal(arrived[0])
