"""Where a report goes: the terminal, ``--json FILE`` or ``-``, ``--plot FILE.png``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.option_groups import OUTPUT
from rankotom_edge.publish.json_lines import PRIVATE_FILE, STDOUT

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_SEED = 2**63 - 1
INTERRUPTED = 130  # exit status after Ctrl-C: 128 plus the signal's number, by convention

JsonTarget = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write the results as JSON; [bold]-[/] is standard output."
    ),
    OUTPUT,
]
PlotTarget = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE.png", help="Draw the report as a picture."),
    OUTPUT,
]


@dataclass(frozen=True)
class ReportOptions:
    json: JsonTarget = None
    plot: PlotTarget = None


@dataclass(frozen=True)
class BootstrapOptions:
    resamples: Annotated[
        int,
        typer.Option(
            min=10,
            max=100_000,
            metavar="N",
            help="Bootstrap resamples for the intervals and the floor.",
        ),
    ] = 1000
    seed: Annotated[
        int,
        typer.Option(min=0, max=MOST_SEED, metavar="N", help="Seed of the bootstrap resamples."),
    ] = 0


def check_outputs(
    json_target: str | None, plot: Path | None = None, others: Iterable[Path | None] = ()
) -> None:
    """Called before the work, so that an output that cannot be written costs no time."""
    from calib.files import check_target

    if plot is not None:
        from calib.reports.plots import FORMATS

        if plot.suffix.lower() not in FORMATS:
            *most, last = FORMATS
            raise RankotomError(
                f"cannot draw {plot}: the name of a picture ends in {', '.join(most)} or {last}"
            )
    named = None if json_target in (None, STDOUT) else Path(str(json_target))
    paths = [path for path in (named, plot, *others) if path is not None]
    for path in paths:
        check_target(path)
    files = [path.resolve() for path in paths]
    twice = next((path for path in paths if files.count(path.resolve()) > 1), None)
    if twice is not None:
        raise RankotomError(f"{twice} is named for two outputs; name another file for one of them.")


def write_json(target: str, document: Mapping[str, object]) -> None:
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    if target == STDOUT:
        _print(text)
        return
    from calib.files import replace_file

    with replace_file(Path(target), PRIVATE_FILE) as temporary:
        temporary.write_text(text, encoding="utf-8")


def show(report: RenderableType, json_target: str | None, notes: Iterable[str] = ()) -> None:
    """Print the report and its notes; if JSON goes to standard output, only the notes, on
    standard error."""
    if json_target == STDOUT:
        for words in notes:
            print(f"note: {words}", file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    # A model's name may look like markup.
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as page:
        console.print(report)
        for words in notes:
            console.print(Text.assemble(("Note: ", "bold"), words))
    _print(page.get())


def _print(text: str) -> None:
    """A reader that stops early (``| head -1``) is no error: the exit status stays."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        if not isinstance(error, BrokenPipeError):
            raise RankotomError(f"cannot write to standard output: {error.strerror}") from error


def drop_output() -> None:
    """Redirect standard output to nowhere: Python would fail to flush it when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def progress(message: str) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error, if that is a terminal; yields a function that changes its
    message."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda message: None
        return
    with console.status(Text(message)) as status:
        yield lambda message: status.update(Text(message))
