"""The one exception of this project: a message for the person at the keyboard."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class RankotomError(Exception):
    """What was tried, what was found and what to do next, in one or two lines.

    The command line prints the message alone and exits with status 2; ``--debug`` shows the
    traceback.
    """


@contextmanager
def exit_on_error() -> Iterator[None]:
    """For modules run with ``python -m``: bad input ends in one line and status 2."""
    try:
        yield
    except RankotomError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename or 'a file'}: {error.strerror or error}"
    else:
        return
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)
