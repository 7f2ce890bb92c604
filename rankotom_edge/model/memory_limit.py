"""A limit to the memory that this process may take on, while it runs what it does not know yet."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/status")


@contextmanager
def limit_memory(more: int) -> Iterator[None]:
    """At most ``more`` bytes beyond those in use; beyond that an allocation fails, as it does when
    memory is full. Linux alone has such a limit; elsewhere there is none."""
    used = _data_bytes()
    if sys.platform != "linux" or used is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    soft = used + more if before[0] == resource.RLIM_INFINITY else min(before[0], used + more)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _data_bytes() -> int | None:
    try:
        found = re.search(r"VmData:\s+(\d+) kB", STATUS.read_text())
    except OSError:
        return None
    return None if found is None else 1024 * int(found[1])
