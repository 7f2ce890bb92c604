"""``python -m rankotom_edge``, torchrun with ``-m rankotom_edge``, and ``rankotom-edge`` itself."""

import sys

from rankotom_edge.interrupts import end_at_once, undisturbed


def main() -> None:
    """Ctrl-C may come while the command line is still being imported."""
    try:
        with undisturbed():
            from rankotom_edge.cli.app import main as run

        run()
    except KeyboardInterrupt:
        end_at_once(130)
        sys.exit(130)
    except SystemExit as ended:
        end_at_once(ended.code if isinstance(ended.code, int) else bool(ended.code))
        raise


if __name__ == "__main__":
    main()
