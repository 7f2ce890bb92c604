"""A module of train/ as a command: ``python -m train.weight_average``."""

import sys
from collections.abc import Callable

import typer

from calib.errors import RankotomError


def run(main: Callable[..., None]) -> None:
    """Bad input ends with what is wrong and status 2, like every command of rankotom-edge."""
    try:
        typer.run(main)
    except RankotomError as error:
        sys.exit(_told(str(error)))
    except OSError as error:
        sys.exit(_told(f"{error.filename or 'a file'}: {error.strerror or error}"))


def _told(words: str) -> int:
    print(f"error: {words}", file=sys.stderr)
    return 2
