"""A module of train/ as a command: ``python -m train.soup``."""

import sys
from collections.abc import Callable

import typer

from calib.errors import RankotomError


def run(main: Callable[..., None]) -> None:
    """Bad input ends with what is wrong and status 2, like every command of rankotom-edge."""
    try:
        typer.run(main)
    except RankotomError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
