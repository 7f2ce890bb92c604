"""What ``camera`` and ``replay`` share: which view to open, and how a run ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.output import INTERRUPTED, drop_output
from rankotom_edge.publish.json_lines import STDOUT

if TYPE_CHECKING:
    from rankotom_edge.live.run_stats import RunStats
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.sources import Source
    from rankotom_edge.views.view import View

OUTPUT = "Views and output"

ViewName = Literal["auto", "window", "terminal", "web", "none"]

FastOption = Annotated[bool, typer.Option("--fast", help="Play a file as fast as it can be read.")]


@dataclass(frozen=True)
class ViewOptions:
    view: Annotated[
        ViewName,
        typer.Option(
            metavar="NAME",
            help=(
                "window, terminal, web or none; [bold]auto[/] opens the window if there is a "
                "screen, else the terminal view."
            ),
            rich_help_panel=OUTPUT,
        ),
    ] = "auto"
    picture: Annotated[
        bool,
        typer.Option(
            "--picture", help="Show the picture in the terminal view.", rich_help_panel=OUTPUT
        ),
    ] = False

    def resolve(self, json: str | None = None) -> ViewName:
        """The view to open; never auto. The terminal view and ``--json -`` exclude each other."""
        if json == STDOUT and self.view == "terminal":
            raise typer.BadParameter(
                "--json - needs standard output for itself; add --view none, web or window"
            )
        if self.view not in ("auto", "window"):
            return self.view
        from rankotom_edge.views.window.view import screen_available

        if screen_available():
            return "window"
        if self.view == "window":
            raise RankotomError(
                "There is no screen to open a window on (DISPLAY names none that answers). "
                "Use --view terminal, or --view none with --json."
            )
        return "none" if json == STDOUT else "terminal"


@contextmanager
def open_view(name: ViewName, model: MeasuredModel, picture: bool) -> Iterator[View]:
    """Any view but web, which needs a port (``web_options``)."""
    if name == "web":
        raise typer.BadParameter("only camera has --view web; use window, terminal or none")
    if name == "window":
        from rankotom_edge.views.window.view import WindowView

        with WindowView("rankotom-edge", model) as window:
            yield window
    elif name == "terminal" and sys.stdout.isatty():
        from rankotom_edge.views.terminal.view import TerminalView

        with TerminalView(model, picture=picture) as terminal:
            yield terminal
    elif name == "terminal":
        from rankotom_edge.views.terminal.lines import LinesView

        yield LinesView(sys.stdout, model)
    else:
        from rankotom_edge.views.no_view import NoView

        yield NoView()


def print_summary(
    stats: RunStats, source: Source, more: Iterable[str] = (), problems_only: bool = False
) -> None:
    """``problems_only``: only what went wrong with the source."""
    problem = source.state.words.partition(": ")[2]
    with suppress(OSError):  # the terminal is gone
        if problem and not source.live:
            print(f"note: {source.name}: {problem}", file=sys.stderr)
        if not problems_only:
            for line in (stats.summary(time.monotonic(), source.dropped), *more):
                print(line, file=sys.stderr)


@contextmanager
def exit_statuses() -> Iterator[None]:
    """130 after an interrupt; 0 if the reader of the JSON stream goes away."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        drop_output()
