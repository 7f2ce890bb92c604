"""Optional dependencies: the error of a command that lacks one names the extra to install."""

from collections.abc import Iterator
from contextlib import contextmanager

from calib.errors import RankotomError
from rankotom_edge.system_libraries import OURS


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports that need ``pip install 'rankotom-edge[name]'``.

    >>> with extra("train"):
    ...     from train.loop import train

    If a module of ours is missing, that is a bug: the error passes through.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if not missing or missing in OURS:
            raise
        raise RankotomError(
            f"this needs {missing}, which is not installed: pip install 'rankotom-edge[{name}]'"
        ) from error
