"""Starts the command line: ``rankotom-edge``, ``python -m rankotom_edge``, torchrun."""

import sys
from collections.abc import Callable

from rankotom_edge.interrupts import delay_interrupts, exit_on_next_interrupt
from rankotom_edge.system_libraries import explain_import


def import_command_line() -> Callable[[], None]:
    try:
        from rankotom_edge.cli.app import main as run
    except ImportError as error:
        words = explain_import(error)
        if words is None:
            raise
        print(f"error: {words}", file=sys.stderr)
        sys.exit(2)
    return run


def main() -> None:
    """Handles Ctrl-C even while the command line is being imported."""
    try:
        with delay_interrupts():
            run = import_command_line()
        run()
    except KeyboardInterrupt:
        exit_on_next_interrupt(130)
        sys.exit(130)
    except SystemExit as ended:
        exit_on_next_interrupt(ended.code if isinstance(ended.code, int) else bool(ended.code))
        raise


if __name__ == "__main__":
    main()
