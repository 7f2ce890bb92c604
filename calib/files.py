"""Files that are either whole or not there: written under another name, then moved into place."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calib.errors import RankotomError

# Of a long name, so that the temporary one, which adds to it, is not too long.
KEPT_CHARACTERS = 40


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """A temporary path that takes the place of ``path`` once the block ends without error.

    A link stays a link, and what it points to is replaced. A FIFO or a device is not replaced but
    written into, once all is there to write. The temporary name keeps the suffix, by which
    matplotlib and others choose a format.
    """
    with _explained(path):
        temporary = _temporary_for(path)
    try:
        with _explained(path):
            yield temporary
            if _is_special(path):
                with temporary.open("rb") as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
            else:
                os.chmod(temporary, 0o666 & ~_umask() if mode is None else mode)
                os.replace(temporary, path.resolve())
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: Path) -> None:
    """Refuse a path that ``replacing`` would refuse, before the work of which it is the end."""
    with _explained(path):
        _temporary_for(path).unlink()


def _temporary_for(path: Path) -> Path:
    """Beside the file, so that a rename is enough; there may be no room beside a device."""
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
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RankotomError(_cannot_write(path, error)) from error


def _umask() -> int:
    """mkstemp makes private files; a report is as readable as the user's other files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> str:
    if not os.path.isdir(path.parent):
        return f"cannot write {path}: there is no folder {path.parent}; make it first"
    return f"cannot write {path}: {error.strerror}"
