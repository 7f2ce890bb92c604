"""``python -m rankotom_edge``, torchrun with ``-m rankotom_edge``, and ``rankotom-edge`` itself."""

import sys

from rankotom_edge.interrupts import undisturbed


def main() -> None:
    """Ctrl-C may come while the command line is still being imported."""
    try:
        with undisturbed():
            from rankotom_edge.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
