"""Input files: ordinary ones of a plausible size. A FIFO would be waited for, and a device such as
/dev/zero has no end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from calib.errors import RankotomError

READ_ONLY = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
MEGABYTE = 1024**2
# Far more than any file that the program reads whole; callers know better limits.
MOST_BYTES = 1024 * MEGABYTE


def open_input(path: Path, most: int = MOST_BYTES) -> BinaryIO:
    """Opens an ordinary file of at most ``most`` bytes; anything else is an error for the user."""
    try:
        number = os.open(path, READ_ONLY)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise RankotomError(f"Cannot read {path}: {_reason(error)}.") from error
    status = os.fstat(number)
    problem = None
    if stat.S_ISDIR(status.st_mode):
        problem = os.strerror(errno.EISDIR)
    elif not stat.S_ISREG(status.st_mode):
        problem = "it is not an ordinary file"
    elif status.st_size > most:
        problem = f"it has {status.st_size:,} bytes, and at most {most:,} are read"
    if problem is not None:
        os.close(number)
        raise RankotomError(f"Cannot read {path}: {problem}.")
    return open(number, "rb")


def read_input(path: Path, most: int = MOST_BYTES) -> bytes:
    with open_input(path, most) as file:
        try:
            content = file.read(most + 1) or b""  # None: there is nothing to read yet
        except OSError as error:
            raise RankotomError(f"Cannot read {path}: {_reason(error)}.") from error
    if len(content) > most:  # it grew, or is one of /proc's, whose size is 0
        raise RankotomError(f"Cannot read {path}: it has more than {most:,} bytes.")
    return content


def read_private(path: Path, most: int, what: str) -> str:
    """A secret. Refuses a file that other users can read, before it is read."""
    with open_input(path, most) as file:
        if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
            raise RankotomError(
                f"Other users can read the {what} in {path}. First run: chmod 600 {path}"
            )
        try:
            return file.read(most).decode()
        except (OSError, UnicodeError) as error:
            raise RankotomError(f"Cannot read the {what} in {path}: {_reason(error)}.") from error


def check_input(path: Path, most: int = MOST_BYTES) -> None:
    """For a library that opens the file itself. It would wait for some files of /proc, which seem
    empty."""
    with open_input(path, most) as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise RankotomError(f"Cannot read {path}: it is empty.")


def expand_home(path: Path | str) -> Path:
    """Without an error for ``~nouser/x``: there is no such file, and the reader will say so."""
    return Path(os.path.expanduser(path))


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
