"""Starts the command line: ``rankotom-edge``, ``python -m rankotom_edge``, torchrun."""

import sys

from rankotom_edge.interrupts import delay_interrupts, exit_on_next_interrupt


def main() -> None:
    """Handles Ctrl-C even while the command line is being imported."""
    try:
        with delay_interrupts():
            from rankotom_edge.cli.app import main as run

        run()
    except KeyboardInterrupt:
        exit_on_next_interrupt(130)
        sys.exit(130)
    except SystemExit as ended:
        exit_on_next_interrupt(ended.code if isinstance(ended.code, int) else bool(ended.code))
        raise


if __name__ == "__main__":
    main()
