"""``python -m rankotom_edge``, and torchrun with ``-m rankotom_edge``."""

from rankotom_edge.cli import main

if __name__ == "__main__":
    main()
