"""One folder for what an export writes on its way, gone at its end whatever ended it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import rmtree

from rankotom_edge.interrupts import undisturbed


@contextmanager
def scratch() -> Iterator[None]:
    """Temporary files, ours and ONNX Runtime's, lie in it.

    A signal that arrives while a temporary folder is being removed leaves it half removed for
    good; here it waits until that is done.
    """
    with undisturbed():
        before, folder = tempfile.tempdir, tempfile.mkdtemp(prefix="rankotom-")
        tempfile.tempdir = folder
    try:
        yield
    finally:
        with undisturbed():
            tempfile.tempdir = before
            rmtree(folder, ignore_errors=True)
