"""Files that are complete or absent: written under a temporary name, then moved into place."""

import errno
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calib.errors import RankotomError

# Characters kept of a long name, so that the temporary name, which adds to it, is not too long.
KEPT_CHARACTERS = 40
READER_WAIT = 10.0  # seconds in which a FIFO must get its reader. Chosen by eye


@contextmanager
def replace_file(path: Path, mode: int | None = None) -> Iterator[Path]:
    """A temporary path that replaces ``path`` when the block ends without error.

    A link stays a link; its target is replaced. A FIFO or a device is not replaced: the content is
    copied into it at the end. The temporary name keeps the suffix, because matplotlib and others
    choose a format by it.
    """
    with _explain_errors(path):
        temporary = _temporary_for(path)
    try:
        with _explain_errors(path):
            yield temporary
            if _is_special(path):
                with temporary.open("rb") as source, open(open_output(path), "wb") as target:
                    shutil.copyfileobj(source, target)
            else:
                os.chmod(temporary, 0o666 & ~_umask() if mode is None else mode)
                os.replace(temporary, path.resolve())
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: Path) -> None:
    """Refuse a path that ``replace_file`` would refuse, before the work that leads up to it."""
    with _explain_errors(path):
        _temporary_for(path).unlink()


def open_output(path: Path, mode: int = 0o666) -> int:
    """The descriptor of an emptied file. ``open`` would wait without end for a FIFO's reader."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    if sys.platform == "win32":
        return os.open(path, flags, mode)
    end = time.monotonic() + READER_WAIT
    while True:
        try:
            number = os.open(path, flags | os.O_NONBLOCK, mode)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        else:
            os.set_blocking(number, True)
            return number
        if time.monotonic() > end:
            raise OSError(errno.ENXIO, "it is a FIFO, and no program reads it")
        time.sleep(0.05)


def _temporary_for(path: Path) -> Path:
    """In the folder of the file, so that a rename is enough; elsewhere for a device."""
    folder = None if _is_special(path) else path.resolve().parent
    handle, name = tempfile.mkstemp(
        dir=folder, prefix=f".{path.stem[:KEPT_CHARACTERS]}-", suffix=path.suffix
    )
    os.close(handle)
    return Path(name)


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    return not stat.S_ISREG(mode)


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RankotomError(_cannot_write(path, error)) from error


def _umask() -> int:
    """mkstemp makes private files; a report should be as readable as the user's other files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> str:
    if not os.path.isdir(path.parent):
        return f"cannot write {path}: there is no folder {path.parent}; make it first"
    return f"cannot write {path}: {error.strerror}"
