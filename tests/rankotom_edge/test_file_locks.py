"""A file that one process holds is seen to be held by another."""

import subprocess
import sys
from pathlib import Path

import pytest

from rankotom_edge.file_locks import lock_file

HOLD = """
import sys
from rankotom_edge.file_locks import lock_file
with open(sys.argv[1], "rb") as file:
    lock_file(file, shared=sys.argv[2] == "shared")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("theirs", "ours", "free"), [("alone", True, False), ("shared", True, True)]
)
def test_a_lock_holds_until_its_process_ends(
    tmp_path: Path, theirs: str, ours: bool, free: bool
) -> None:
    path = tmp_path / "readings.jsonl"
    path.touch()
    other = [sys.executable, "-c", HOLD, str(path), theirs]
    with (
        subprocess.Popen(other, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder,
        path.open("rb") as file,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        if free:
            lock_file(file, shared=ours)
        else:
            with pytest.raises(BlockingIOError):
                lock_file(file, shared=ours)
        holder.communicate()
        lock_file(file)
