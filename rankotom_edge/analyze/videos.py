"""From what was named on the command line to the videos, and what each is called in the results."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.sources.image_files import natural_order

# Of the files that are taken from a folder; one that is named itself may be called anything.
VIDEO_SUFFIXES = (
    *(".3gp", ".avi", ".flv", ".gif", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4"),
    *(".mpeg", ".mpg", ".mts", ".ts", ".webm", ".wmv"),
)


@dataclass(frozen=True)
class Video:
    path: str  # absolute
    name: str  # in the results: where it is in the folder or glob that was named
    size: int  # bytes
    modified: int  # nanoseconds since 1970

    @classmethod
    def of(cls, path: Path, root: Path) -> "Video":
        found = path.stat()
        name = path.relative_to(root).as_posix()
        return cls(str(path), name, found.st_size, found.st_mtime_ns)


def find_videos(named: Iterable[str]) -> list[Video]:
    """Of files, folders (with all folders inside) and globs; each once, in natural order."""
    videos: dict[str, Video] = {}
    for each in named:
        found = [Video.of(path, root) for path, root in _find(each)]
        if not found:
            raise RankotomError(
                f"There is no video in {each}. Give videos, folders or globs of them "
                f"({', '.join(VIDEO_SUFFIXES)})."
            )
        videos.update({video.path: video for video in found})
    by_name: dict[str, Video] = {}
    for video in videos.values():
        other = by_name.setdefault(video.name, video)
        if other is not video:
            raise RankotomError(
                f"{other.path} and {video.path} would both be {video.name} in the results. Name a "
                "folder that holds both instead."
            )
    return sorted(by_name.values(), key=lambda video: natural_order(Path(video.name)))


def _find(named: str) -> Iterator[tuple[Path, Path]]:
    """Each with the folder that its name in the results starts from."""
    path = Path(os.path.abspath(os.path.expanduser(named)))
    if path.is_dir():
        yield from ((each, path.parent) for each in _videos_in(path))
    elif path.exists():
        yield path, path.parent
    elif glob.has_magic(named):
        parts = path.parts
        fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
        root = Path(*parts[:fixed])
        for match in map(Path, glob.glob(str(path), recursive=True)):
            if match.is_dir():
                yield from ((each, root) for each in _videos_in(match))
            elif _is_video(match):
                yield match, root
    else:
        raise RankotomError(f"There is no video {named}: no such file or folder.")


def _videos_in(folder: Path) -> Iterator[Path]:
    """Not those in .Trash and the like, nor the ._clip.mp4 that macOS writes beside each clip on
    foreign disks."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and _is_video(path):
            yield path


def _is_video(path: Path) -> bool:
    return path.suffix.lower() in VIDEO_SUFFIXES and path.is_file()
