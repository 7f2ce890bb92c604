"""The command line. ``rankotom_edge/commands`` says how to add a command."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge import __version__
from rankotom_edge.commands.drift import drift
from rankotom_edge.commands.evaluate import evaluate
from rankotom_edge.commands.export import export
from rankotom_edge.commands.models import models

CALIBRATION = "Calibration"
MODELS = "Models"

app = typer.Typer(
    name="rankotom-edge",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankotom-edge {__version__}")
        raise typer.Exit()


@app.callback(
    epilog="[dim]Exit status: 0 done, 1 the answer is no, 2 bad usage or input, 130 interrupted.[/]"
)
def rankotom_edge(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Facial expressions with a confidence that means what it says, offline."""


app.command(rich_help_panel=CALIBRATION)(evaluate)
app.command(rich_help_panel=CALIBRATION)(drift)
app.command(rich_help_panel=MODELS)(models)
app.command(rich_help_panel=MODELS)(export)


def main() -> None:
    """Our own errors are for the person at the keyboard: a line or two, and no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments, prog_name="rankotom-edge")
    except RankotomError as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
