"""Where a report goes: the terminal, ``--json FILE`` or ``-``, ``--plot FILE.png``."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

STDOUT = "-"

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
    int, typer.Option(min=10, metavar="N", help="Resamples for the intervals and the floor.")
]
Seed = Annotated[
    int, typer.Option(min=0, metavar="N", help="The same seed gives the same intervals.")
]


def write_json(target: str, figures: Mapping[str, object]) -> None:
    text = json.dumps(figures, indent=2, allow_nan=False) + "\n"
    if target == STDOUT:
        sys.stdout.write(text)
        return
    from calib.files import replacing

    with replacing(Path(target)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def show(report: "RenderableType", json_target: str | None) -> None:
    """Print the report, unless standard output belongs to the JSON."""
    if json_target == STDOUT:
        return
    from rich.console import Console

    Console(highlight=False).print(report)


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
