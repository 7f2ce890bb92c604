"""The one exception of this project: a message for the person at the keyboard."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 1000  # characters of a message; a damaged file may hold more where it should hold a word


class RankotomError(Exception):
    """What was tried, what was found and what to do next, in one or two lines.

    The command line prints the message alone and exits with status 2; ``--debug`` shows the
    traceback.
    """

    def __str__(self) -> str:
        return printable(_shorten(super().__str__()))


def _shorten(text: str) -> str:
    """Without its middle: its start says what was tried, its end what to do."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"


def printable(text: str) -> str:
    """Without what would act on a terminal: names of files and models may hold escape sequences."""
    return "".join(
        each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text
    )


def describe(error: OSError) -> str:
    """In a line, with the file's name if there is one."""
    named = "" if error.filename is None else f"{error.filename}: "
    return str(RankotomError(f"{named}{error.strerror or error}"))


@contextmanager
def exit_on_error() -> Iterator[None]:
    """For modules run with ``python -m``: bad input ends in one line and status 2."""
    try:
        yield
    except RankotomError as error:
        message = str(error)
    except OSError as error:
        message = describe(error)
    else:
        return
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)
