"""Files that are either whole or not there: written under another name, then moved into place."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calib.errors import RankotomError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place once the block ends without error.

    The temporary name keeps the suffix, by which matplotlib and others choose a format.
    """
    try:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
    except OSError as error:
        raise RankotomError(_cannot_write(path, error)) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise RankotomError(_cannot_write(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """mkstemp makes private files; a report is as readable as the user's other files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> str:
    if not path.parent.is_dir():
        return f"cannot write {path}: there is no folder {path.parent}; make it first"
    return f"cannot write {path}: {error.strerror}"
