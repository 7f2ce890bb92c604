"""One folder for the temporary files of an export, removed however the export ends."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import rmtree

from rankotom_edge.interrupts import delay_interrupts


@contextmanager
def temporary_folder() -> Iterator[None]:
    """Inside the block, all temporary files, ONNX Runtime's too, are in this folder.

    A signal during the removal of a folder would leave it half removed for good; here the signal
    waits until the removal is done.
    """
    with delay_interrupts():
        before, folder = tempfile.tempdir, tempfile.mkdtemp(prefix="rankotom-")
        tempfile.tempdir = folder
    try:
        yield
    finally:
        with delay_interrupts():
            tempfile.tempdir = before
            rmtree(folder, ignore_errors=True)
