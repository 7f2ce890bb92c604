"""``python -m rankotom_edge.doctor FUNCTION ARGUMENT``: one trial, in this process."""

import json
import os
import sys

from rankotom_edge.doctor.subprocess_check import answer

STDOUT, STDERR = 1, 2


def main() -> None:
    # Standard output is the answer's alone: libraries that print do so on standard error.
    with os.fdopen(os.dup(STDOUT), "w") as out:
        os.dup2(STDERR, STDOUT)
        json.dump(answer(*sys.argv[1:]), out)


if __name__ == "__main__":
    main()
