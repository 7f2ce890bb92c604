"""Locks on open files: they tell other processes that a file is in use, until it is closed."""

import sys
from typing import IO, Any

if sys.platform == "win32":

    def lock_file(file: IO[Any], *, shared: bool = False) -> None:
        """Windows has no locks that other readers may ignore. It does not remove open files."""

else:
    import fcntl

    def lock_file(file: IO[Any], *, shared: bool = False) -> None:
        """Raises BlockingIOError if another process has it, OSError where there are no locks."""
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
