"""What ``camera`` and ``replay`` share: which view, what its keys write, and how it all ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.output import INTERRUPTED, drop_output
from rankotom_edge.publish.json_lines import STDOUT

if TYPE_CHECKING:
    from rankotom_edge.live.run_stats import RunStats
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.sources import Source
    from rankotom_edge.views.display import Display
    from rankotom_edge.views.view import View

OUTPUT = "What is shown and kept"


class ViewName(str, Enum):
    auto = "auto"
    window = "window"
    terminal = "terminal"
    web = "web"
    none = "none"


ViewOption = Annotated[
    ViewName,
    typer.Option(
        "--view",
        metavar="NAME",
        help=(
            "window, terminal, web or none; [bold]auto[/] is the window where there is a "
            "screen, else the terminal."
        ),
        rich_help_panel=OUTPUT,
    ),
]
PictureOption = Annotated[
    bool,
    typer.Option(
        "--picture", help="In the terminal, show the picture too.", rich_help_panel=OUTPUT
    ),
]
LinesTarget = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE|-",
        help="Write a JSON object a line, a frame each; [bold]-[/] is standard output.",
        rich_help_panel=OUTPUT,
    ),
]
FastOption = Annotated[
    bool, typer.Option("--fast", help="Go through a file as fast as it can be read.")
]


def chosen_view(wanted: ViewName, json: str | None) -> ViewName:
    """Standard output has room for one: a JSON stream or the terminal view."""
    if json == STDOUT and wanted is ViewName.terminal:
        raise typer.BadParameter(
            "--json - takes standard output, so add --view none, web or window"
        )
    if wanted is not ViewName.auto and wanted is not ViewName.window:
        return wanted
    from rankotom_edge.views.window.view import screen_available

    if screen_available():
        return ViewName.window
    if wanted is ViewName.window:
        raise RankotomError(
            "There is no screen to open a window on (DISPLAY names none that answers). "
            "Use --view terminal, or --view none with --json."
        )
    return ViewName.none if json == STDOUT else ViewName.terminal


@contextmanager
def open_view(
    name: ViewName, model: MeasuredModel, picture: bool
) -> Iterator[View]:
    """All but the web view, which needs a port as well (``commands/serving.py``)."""
    if name is ViewName.web:
        raise typer.BadParameter("only camera has --view web; use window, terminal or none")
    if name is ViewName.window:
        from rankotom_edge.views.window.view import WindowView

        with WindowView("rankotom-edge", model) as window:
            yield window
    elif name is ViewName.terminal and sys.stdout.isatty():
        from rankotom_edge.views.terminal.view import TerminalView

        with TerminalView(model, picture=picture) as terminal:
            yield terminal
    elif name is ViewName.terminal:
        from rankotom_edge.views.terminal.lines import LinesView

        yield LinesView(sys.stdout, model)
    else:
        from rankotom_edge.views.no_view import NoView

        yield NoView()


def snapshot_to(
    folder: Path, model: MeasuredModel
) -> Callable[[Display], Path]:
    """Saves what the window shows, or would show, as a picture for the person who asked alone."""

    def save(display: Display) -> Path:
        import cv2

        from calib.files import replacing
        from rankotom_edge.views.window.overlay import Overlay

        picture = Overlay(model).draw(display)
        path = folder / f"snapshot-{datetime.now():%Y-%m-%dT%H-%M-%S-%f}.png"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(path, mode=0o600) as temporary:
                temporary.write_bytes(cv2.imencode(".png", picture)[1].tobytes())
        except OSError as error:
            raise RankotomError(f"Cannot save {path}: {error.strerror}.") from error
        return path

    return save


def say_what_it_came_to(tally: RunStats, source: Source, quiet: bool = False) -> None:
    """``quiet``: only what went wrong with the source, as where a program reads the stream."""
    remark = source.state.words.partition(": ")[2]
    with suppress(OSError):  # a terminal that is gone has nobody to tell
        if remark and not source.live:
            print(f"note: {source.name}: {remark}", file=sys.stderr)
        if not quiet:
            print(tally.summary(time.monotonic(), source.dropped), file=sys.stderr)


@contextmanager
def ended_well() -> Iterator[None]:
    """However the loop ends, the status is one that scripts can go by.

    That nobody reads the stream any more is a reason to end and no error.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        drop_output()
