"""Which sessions are kept: at most so many days, and so many gigabytes together.

The oldest whole sessions go first; one that is being written, by this program or another, stays.
Only the files of a session are removed: what somebody else put beside them is left, with its
folder.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rankotom_edge.file_locks import lock_file
from rankotom_edge.interrupts import delay_interrupts
from rankotom_edge.recording.session import METADATA, PREFIX, READINGS, VIDEO

# The last one is what makes it a session; the one before is left by a kill while it was written.
FILES = (VIDEO, READINGS, f"{METADATA}.new", METADATA)
DAY, GIGABYTE = 86_400.0, 1e9
# A new session is begun when one has a tenth of what is kept, so that there are some to remove.
SHARE = 0.1


@dataclass(frozen=True)
class Kept:
    """A session on disk."""

    folder: Path
    started: float  # seconds since 1970
    size: int  # bytes


@dataclass(frozen=True)
class Retention:
    """None keeps without a limit."""

    parent: Path
    days: float | None = None
    gigabytes: float | None = None

    def apply(self, now: float, ours: Path | None = None) -> list[Path]:
        """Removes what is too old or too much, never ``ours``, the session that this program
        writes: not every file system has locks. Returns the folders that were removed."""
        kept = sorted(kept_sessions(self.parent), key=lambda each: each.started)
        total, removed = sum(each.size for each in kept), []
        for each in kept:
            too_old = self.days is not None and now - each.started > self.days * DAY
            too_much = self.gigabytes is not None and total > self.gigabytes * GIGABYTE
            is_written = each.folder == ours or is_being_written(each.folder)
            if (too_old or too_much) and not is_written:
                remove(each.folder)
                removed.append(each.folder)
                total -= each.size
        return removed

    def is_full(self, session: Path, now: float) -> bool:
        """Whether a new session should follow this one."""
        for each in kept_sessions(self.parent):
            if each.folder == session:
                old = self.days is not None and now - each.started > SHARE * self.days * DAY
                limit = None if self.gigabytes is None else SHARE * self.gigabytes * GIGABYTE
                return old or (limit is not None and each.size > limit)
        return False


def kept_sessions(parent: Path) -> Iterator[Kept]:
    for metadata in parent.glob(f"{PREFIX}*/{METADATA}"):
        folder = metadata.parent
        if folder.is_symlink():
            continue
        with suppress(OSError):  # another program may remove it at the same time
            files = [folder / name for name in FILES if (folder / name).is_file()]
            size = sum(file.stat().st_size for file in files)
            yield Kept(folder, _started(folder), size)


def is_being_written(folder: Path) -> bool:
    """A recorder locks its readings for as long as it lives."""
    try:
        with (folder / READINGS).open("rb") as file:
            lock_file(file, shared=True)
    except BlockingIOError:
        return True
    except OSError:  # it has lost its readings: nobody writes it
        return False
    return False


def remove(folder: Path) -> None:
    with delay_interrupts(), suppress(OSError):
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _started(folder: Path) -> float:
    """As its name says, which is local time; a folder that was renamed, by its last change."""
    with suppress(ValueError):
        text = folder.name.removeprefix(PREFIX)[:19]
        return datetime.strptime(text, "%Y-%m-%dT%H-%M-%S").timestamp()
    return (folder / METADATA).stat().st_mtime
