"""``rankotom-edge``: its commands and exit statuses. The package docstring says how to add one."""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from calib.errors import RankotomError, describe, printable
from rankotom_edge import __version__
from rankotom_edge.cli.analyze import analyze
from rankotom_edge.cli.bench import bench
from rankotom_edge.cli.calibrate import calibrate
from rankotom_edge.cli.camera import camera
from rankotom_edge.cli.doctor import doctor
from rankotom_edge.cli.drift import drift
from rankotom_edge.cli.evaluate import evaluate
from rankotom_edge.cli.export import export
from rankotom_edge.cli.help_pages import OverviewPage, add_command
from rankotom_edge.cli.models import models
from rankotom_edge.cli.output import INTERRUPTED, drop_output
from rankotom_edge.cli.replay import replay
from rankotom_edge.cli.train import train
from rankotom_edge.interrupts import install_end_handlers
from rankotom_edge.system_libraries import explain_import

PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Live": (camera, replay, analyze),
    "Calibration": (calibrate, evaluate, drift),
    "Models": (models, export, train),
    "This machine": (doctor, bench),
}

BAD_INPUT = 2
BUG_WORDS = "error: this is a bug in rankotom-edge; please report it"
TOO_LITTLE_MEMORY = "This needs more memory than there is. Give it less to read, or close programs."
BUG = 70  # EX_SOFTWARE of sysexits.h; Python's own status, 1, means "the answer is no" here

app = typer.Typer(
    name="rankotom-edge",
    cls=OverviewPage,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rankotom-edge {__version__}")
        raise typer.Exit()


@app.callback(
    epilog="[dim]Exit status: 0 done, 1 the answer is no, 2 bad input, 70 bug, 130 interrupted.[/]"
)
def rankotom_edge(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
) -> None:
    """Facial expressions with a confidence that means what it says, offline."""


for panel, commands in PANELS.items():
    for command in commands:
        add_command(app, panel, command)


def main() -> None:
    """Prints an error as a line or two, with a traceback only if it is a bug."""
    _open_missing_streams()
    install_end_handlers()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments, prog_name="rankotom-edge")
    except SystemExit as ended:
        # The reader of a help page stopped early (``| head -1``); reports handle this themselves.
        if isinstance(ended.__context__, BrokenPipeError):
            sys.exit(0)
        raise
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except RankotomError as error:
        _fail(f"error: {error}", BAD_INPUT, debug)
    except OSError as error:
        _fail(f"error: {describe(error)}", BAD_INPUT, debug)
    except (ImportError, MemoryError) as error:
        words = explain_import(error) if isinstance(error, ImportError) else TOO_LITTLE_MEMORY
        if words is None:
            _fail(BUG_WORDS, BUG, debug=True)
        _fail(f"error: {words}", BAD_INPUT, debug)
    except Exception:
        _fail(BUG_WORDS, BUG, debug=True)


def _open_missing_streams() -> None:
    """A service may start us with closed streams. Opened on /dev/null, output is discarded, no key
    is read, and none of our files gets the number of a standard stream."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (until the process ends)


def _fail(message: str, status: int, debug: bool) -> NoReturn:
    """Called while an exception is handled."""
    with suppress(OSError):
        if debug:
            traceback.print_exc()
        print(printable(message), file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
    sys.exit(status)


if __name__ == "__main__":
    main()
