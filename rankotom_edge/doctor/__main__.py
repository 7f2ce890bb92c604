"""``python -m rankotom_edge.doctor FUNCTION ARGUMENT``: runs one probe in this process."""

import json
import os
import sys

from rankotom_edge.doctor.subprocess_probe import run_here

STDOUT, STDERR = 1, 2


def main() -> None:
    # Standard output carries the answer alone: what libraries print goes to standard error.
    with os.fdopen(os.dup(STDOUT), "w") as out:
        os.dup2(STDERR, STDOUT)
        json.dump(run_here(*sys.argv[1:]), out)


if __name__ == "__main__":
    main()
