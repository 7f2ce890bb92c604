"""Faces in two parts with no picture in common: one to calibrate a model on, one held out."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import POOR_EYE_DISTANCE
from rankotom_edge.frame import Image
from rankotom_edge.model.card import CropContract

Item = TypeVar("Item")

GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class SplitSizes:
    """How many faces to collect; chosen by eye."""

    minimum: int = 50  # of each part
    max_calibration: int = 1_000
    max_held_out: int = 4_000


@dataclass(frozen=True, eq=False)
class FaceSplit:
    name: str
    calibration: NDArray[np.uint8]  # (n, channels, size, size), as the model takes them
    held_out: NDArray[np.uint8]
    note: str  # for the user: what was left out, and why; may be empty


def is_large_enough(face: Face) -> bool:
    return math.dist(face.left_eye, face.right_eye) >= POOR_EYE_DISTANCE


def cut_face(image: Image, face: Face, contract: CropContract) -> Image:
    return crop(image, face, contract.framing, contract.size, contract.channels)


def spread_evenly(items: Sequence[Item]) -> list[Item]:
    """Reorder the items so that any first part of them is spread evenly over all: a search may stop
    anywhere. The order is by the fractions of multiples of the golden ratio."""
    order = sorted(range(len(items)), key=lambda index: index * GOLDEN_RATIO % 1)
    return [items[index] for index in order]


def with_progress(items: Iterable[Item], total: int, title: str) -> Iterator[Item]:
    """With a progress bar on stderr, if that is a terminal."""
    console = Console(stderr=True)
    quiet = not console.is_terminal
    yield from track(
        items, escape(title), total=total, console=console, transient=True, disable=quiet
    )


def count_words(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
