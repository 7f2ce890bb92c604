"""Where a report goes: the terminal, ``--json FILE`` or ``-``, ``--plot FILE.png``."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge.publish.json_lines import STDOUT

if TYPE_CHECKING:
    from rich.console import RenderableType

INTERRUPTED = 130  # the exit status after Ctrl-C, by custom 128 and the signal

JsonTarget = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE|-",
        help="Write the figures as JSON; [bold]-[/] is standard output.",
    ),
]
PlotTarget = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE.png", help="Draw the report as a picture."),
]
Resamples = Annotated[
    int, typer.Option(min=10, metavar="N", help="To find the intervals and the floor.")
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="The same seed, the same intervals.")]


def check_outputs(
    json_target: str | None, plot: Path | None = None, others: Iterable[Path | None] = ()
) -> None:
    """Before the work: a report that cannot be written is better not waited for."""
    from calib.files import check_target

    if plot is not None:
        from calib.reports.plots import FORMATS

        if plot.suffix.lower() not in FORMATS:
            *most, last = FORMATS
            raise RankotomError(
                f"cannot draw {plot}: a picture's name ends in {', '.join(most)} or {last}"
            )
    named = None if json_target in (None, STDOUT) else Path(str(json_target))
    paths = [path for path in (named, plot, *others) if path is not None]
    for path in paths:
        check_target(path)
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise RankotomError(f"{twice} cannot be two files at once; name another.")


def write_json(target: str, figures: Mapping[str, object]) -> None:
    text = json.dumps(figures, indent=2, allow_nan=False) + "\n"
    if target == STDOUT:
        _print(text)
        return
    from calib.files import replacing

    with replacing(Path(target)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def show(report: "RenderableType", json_target: str | None, notes: Iterable[str] = ()) -> None:
    """Print the report and what to bear in mind with it.

    Where standard output belongs to the JSON, only the notes, on standard error.
    """
    if json_target == STDOUT:
        for words in notes:
            print(f"note: {words}", file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    with console.capture() as page:
        console.print(report)
        for words in notes:
            console.print(Text.assemble(("Note: ", "bold"), words))
    _print(page.get())


def _print(text: str) -> None:
    """A reader who has seen enough (``| head -1``) is no error: the command keeps its status."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        if not isinstance(error, BrokenPipeError):
            raise RankotomError(f"cannot write to standard output: {error.strerror}") from error


def drop_output() -> None:
    """What is still buffered has nowhere to go, and Python would try again as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def working(message: str) -> Iterator[None]:
    """A spinner on standard error while the statistics run; nothing where no one watches."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(message):
        yield
