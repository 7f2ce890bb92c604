"""Watches the system calls of a short run: did anything leave the machine, was anything written?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable

from rankotom_edge.doctor.check import Check
from rankotom_edge.doctor.subprocess_probe import end

FRAMES = 60
# Everything that opens a socket or uses one, and everything that makes or changes a file.
CALLS = (
    "%network,open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,"
    "link,linkat,symlink,symlinkat,truncate,unlink,unlinkat,rmdir"
)
# A resolver on this machine asks others for the caller.
OTHER_MACHINES = re.compile(
    r'AF_(INET6?|NETLINK|PACKET|BLUETOOTH|VSOCK)\b|sun_path=@?"[^"]*(resolve|dbus)'
)
WRITING = re.compile(
    r"O_WRONLY|O_RDWR|O_CREAT|O_TMPFILE"
    r"|^(\d+ +)?(creat|mkdir|mknod|rename|link|symlink|truncate|unlink|rmdir)(at2?|2)?\("
)
# Devices and the kernel's own files are on no disk, except for shared memory, which is in none.
NO_FILE = re.compile(r'"/(dev|proc|sys)/')
MODULES = "__pycache__"  # Python's own copies of the program, made at its first start
SHOWN = 3  # calls in a report

TRACING = (
    "sudo apt-get install strace, and allow it to trace (in a container: --cap-add SYS_PTRACE)"
)


def private_checks(source: str, timeout: float) -> list[Check]:
    """Two checks, or one that says why there are none."""
    began = time.perf_counter()
    if sys.platform != "linux":
        return [_check("watched", "system calls are watched on Linux only", None)]
    if shutil.which("strace") is None:
        return [_check("watched", "strace, which watches system calls, is not installed", TRACING)]
    try:
        calls, status = watched_run(source, timeout)
    except subprocess.TimeoutExpired:
        fix = f"give it longer: --timeout {2 * timeout:g}"
        return [_check("watched", f"the run did not end in {timeout:g} s", fix)]
    ms = 1000 * (time.perf_counter() - began)
    if status != 0 or not calls:
        why = f"a run on {source} ended with status {status}" if calls else "strace may not trace"
        fix = f"rankotom-edge camera --source {source} --view none" if calls else TRACING
        return [_check("watched", why, fix, ms)]
    sent, wrote = network_calls(calls), file_calls(calls)
    files = [call for call in wrote if MODULES not in call]
    run = f"{FRAMES} frames of {source}, {len(calls):,} system calls watched"
    compiled = f"; {len(wrote) - len(files)} of Python's own copies" if wrote != files else ""
    return [
        _check("network", _words(sent) or f"nothing left this machine: {run}", None, ms, not sent),
        _check("files", _words(files) or f"nothing was written{compiled}", None, 0.0, not files),
    ]


def watched_run(source: str, timeout: float) -> tuple[list[str], int]:
    """The system calls of a run, and its exit status. They are kept in memory."""
    if sys.platform != "linux":
        return [], 1
    trace = os.memfd_create("trace")
    try:
        program = [sys.executable, "-m", "rankotom_edge", "camera", "--source", source]
        process = subprocess.Popen(
            [
                *strace(f"/proc/{os.getpid()}/fd/{trace}", CALLS),
                *(*program, "--view", "none", "--frames", str(FRAMES)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout)
        finally:
            end(process)  # a program whose strace alone was killed would run on
        with os.fdopen(os.dup(trace), "r", errors="replace") as file:
            file.seek(0)
            return named_calls(file), status
    finally:
        os.close(trace)


def strace(trace: str, calls: str) -> tuple[str, ...]:
    """What stands before a command to watch it and all that it starts."""
    return ("strace", "-f", "-qq", "-e", "signal=none", "-e", f"trace={calls}", "-o", trace)


def named_calls(lines: Iterable[str]) -> list[str]:
    """A thread that ends while strace looks at it leaves ``21176 ???( <detached ...>``, which names
    no call."""
    return [line.strip() for line in lines if not line.split(maxsplit=1)[-1].startswith("???")]


def network_calls(calls: Iterable[str]) -> list[str]:
    """Those that could reach another machine, tried or done."""
    return [call for call in calls if OTHER_MACHINES.search(call)]


def file_calls(calls: Iterable[str]) -> list[str]:
    """Those that made or changed a file."""
    return [
        call
        for call in calls
        if WRITING.search(call) and not NO_FILE.search(call) and "= -1" not in call
    ]


def _words(calls: list[str]) -> str:
    more = f" and {len(calls) - SHOWN} more" if len(calls) > SHOWN else ""
    return "; ".join(call[:100] for call in calls[:SHOWN]) + more


def _check(name: str, detail: str, fix: str | None, ms: float = 0.0, ok: bool = False) -> Check:
    return Check(name, ok, detail, fix, ms, "needed")
