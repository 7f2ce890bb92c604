"""Where the panels go: beside their faces, over none of them, and where they were before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

Side: TypeAlias = Literal["right", "left", "below", "above", "column"]
Size: TypeAlias = tuple[float, float]

# A panel that shrank grows again, or returns to the side of its face, only with this much room to
# spare: else a face at the limit would make it flip at every frame.
SPARE = 1.2
# How far a face moves before it pulls its panel along, in gaps: a detector's box trembles by 1 or
# 2 % of its width, and text that trembles can't be read.
SLACK = 1.5
# Steps of the search before it is given up: eight faces without a conflict need eight, and a
# hopeless crowd must not cost the frame.
SEARCH_STEPS = 300
FLANKS: tuple[Side, Side] = ("right", "left")  # where a panel is best
ALONG = (0.0, 0.5, 1.0)  # with the start, the middle or the end of its face


class Rect(NamedTuple):  # a crowd makes hundreds a frame, and a tuple is the quickest to make
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def pixels(self) -> tuple[int, int, int, int]:
        """x, y, width and height; neighbours that share an edge still do."""
        x, y = round(self.x), round(self.y)
        return x, y, round(self.right) - x, round(self.bottom) - y

    def grown(self, by: float) -> Rect:
        return Rect(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def within(self, other: Rect) -> Rect:
        """The part of it that lies in another, perhaps of no size."""
        x = min(max(self.x, other.x), other.right)
        y = min(max(self.y, other.y), other.bottom)
        right = max(x, min(self.right, other.right))
        bottom = max(y, min(self.bottom, other.bottom))
        return Rect(x, y, right - x, bottom - y)

    def overlaps(self, other: Rect) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def contains(self, other: Rect) -> bool:
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


class Place(NamedTuple):
    """A panel, the side of its face that it is on, and where along that side: 0 is its start."""

    side: Side
    along: float
    rect: Rect


@dataclass(frozen=True)
class Layout:
    level: int = 0  # which of the scene's panel sizes: 0 is the fullest
    column: bool = False  # whether the column beside the picture is in use
    places: Mapping[int, Place] = field(default_factory=dict)  # by track
    column_used: float = -math.inf  # time of the last frame that had a panel in the column

    @property
    def in_column(self) -> bool:
        return any(place.side == "column" for place in self.places.values())


@dataclass(frozen=True)
class Scene:
    """What there is to arrange, in pixels of the canvas."""

    faces: Mapping[int, Rect]  # by track
    picture: Rect
    column: Rect | None  # room beside the picture, where it is open
    sizes: Sequence[Size]  # of a panel, the fullest first
    gap: float  # between a panel and anything else


def arrange(scene: Scene, previous: Layout) -> Layout | None:
    """A place for each face's panel, all of one size, the fullest that fits; None: none fits.

    A panel stays on its side and at its size while it can.
    """
    for level in range(len(scene.sizes)):
        if level < previous.level and _placed(scene, level, previous, SPARE) is None:
            continue
        places = _placed(scene, level, previous)
        if places is not None:
            return _layout(level, previous, places)
    return None


def kept(scene: Scene, previous: Layout) -> Layout | None:
    """The same faces with panels of the same size; None where they need to be arranged anew."""
    if previous.places.keys() != scene.faces.keys() or previous.level >= len(scene.sizes):
        return None
    places = _placed(scene, previous.level, previous)
    return None if places is None else replace(previous, places=places)


def arrange_most(scene: Scene, previous: Layout) -> Layout:
    """As ``arrange``; where it is too crowded, the smallest panels, for the largest faces."""
    layout = arrange(scene, previous)
    if layout is not None:
        return layout
    level = len(scene.sizes) - 1
    places: dict[int, Place] = {}
    for track in sorted(scene.faces, key=lambda track: -scene.faces[track].width):
        options = _options(scene, track, scene.sizes[level], previous.places.get(track))
        taken = places.values()
        place = next((place for place in options if _is_apart(place, taken, scene.gap)), None)
        if place is not None:
            places[track] = place
    return _layout(level, previous, places)


def _layout(level: int, previous: Layout, places: Mapping[int, Place]) -> Layout:
    layout = replace(previous, level=level, places=places)
    return replace(layout, column=layout.column or layout.in_column)


def _placed(
    scene: Scene, level: int, previous: Layout, spare: float = 1.0
) -> dict[int, Place] | None:
    size = _times(scene.sizes[level], spare)
    # Those that have a place choose first, so that a newcomer moves nobody.
    tracks = sorted(scene.faces, key=lambda track: (track not in previous.places, track))
    options = []
    for track in tracks:
        options.append(list(_options(scene, track, size, previous.places.get(track))))
        if not options[-1]:
            return None
    chosen = _search(options, scene.gap)
    return None if chosen is None else dict(zip(tracks, chosen, strict=True))


def _search(options: Sequence[Sequence[Place]], gap: float) -> list[Place] | None:
    """The first choice, in the order of preference, in which no two panels meet."""
    chosen: list[Place] = []
    turns = [iter(options[0])] if options else []
    steps = SEARCH_STEPS
    while turns and steps:
        place = next(turns[-1], None)
        if place is None:
            turns.pop()
            if chosen:
                chosen.pop()
            continue
        steps -= 1
        if not _is_apart(place, chosen, gap):
            continue
        chosen.append(place)
        if len(chosen) == len(options):
            return chosen
        turns.append(iter(options[len(chosen)]))
    return None if options else []


def _is_apart(place: Place, others: Iterable[Place], gap: float) -> bool:
    room = place.rect.grown(gap)
    return not any(room.overlaps(other.rect) for other in others)


def _options(scene: Scene, track: int, size: Size, previous: Place | None) -> Iterator[Place]:
    """The places where a face's panel covers no face, the best first."""
    beside = [place for place in _beside(scene, track, size, previous) if _is_free(scene, place)]
    column = list(_in_column(scene, size))
    if previous is None:
        yield from (*beside, *column)
        return
    better = [] if previous.side in FLANKS else beside
    if previous.side != "column":
        better = [place for place in better if place.side in FLANKS]
    if better:
        roomier = _beside(scene, track, _times(size, SPARE), previous)
        ample = {place[:2] for place in roomier if _is_free(scene, place)}
        yield from (place for place in better if place[:2] in ample)
    if previous.side == "column":
        yield from sorted(column, key=lambda place: abs(place.rect.y - previous.rect.y))
        yield from beside
    else:
        before = (previous.side, previous.along)
        yield from sorted(beside, key=lambda place: (place.side, place.along) != before)
        yield from column


def _beside(scene: Scene, track: int, size: Size, previous: Place | None) -> Iterator[Place]:
    width, height = size
    picture, gap = scene.picture, scene.gap
    face = scene.faces[track].within(picture)
    # The room on each side, and where a panel starts there.
    flanks: dict[Side, tuple[float, float]] = {
        "right": (picture.right - face.right, face.right + gap),
        "left": (face.x - picture.x, face.x - gap - width),
    }
    ends: dict[Side, tuple[float, float]] = {
        "below": (picture.bottom - face.bottom, face.bottom + gap),
        "above": (face.y - picture.y, face.y - gap - height),
    }
    for sides in (flanks, ends):
        for side in sorted(sides, key=lambda side: -sides[side][0]):
            start = sides[side][1]
            for along in ALONG:
                x, y = start, face.y + along * (face.height - height)
                if sides is ends:
                    x, y = face.x + along * (face.width - width), start
                if previous is not None and (previous.side, previous.along) == (side, along):
                    x, y = _leashed((x, y), previous, SLACK * gap, gap / 2)
                x = max(picture.x, min(x, picture.right - width))
                y = max(picture.y, min(y, picture.bottom - height))
                yield Place(side, along, Rect(x, y, width, height))


def _leashed(
    target: tuple[float, float], previous: Place, slack: float, near: float
) -> tuple[float, float]:
    """Where the panel was, pulled along by no more than it must; ``near``: towards its face."""
    side, (x, y) = previous.side, target
    left = near if side == "right" else slack
    right = near if side == "left" else slack
    up = near if side == "below" else slack
    down = near if side == "above" else slack
    return (
        min(max(previous.rect.x, x - left), x + right),
        min(max(previous.rect.y, y - up), y + down),
    )


def _is_free(scene: Scene, place: Place) -> bool:
    """Inside the picture and clear of every face."""
    rect = place.rect
    if not scene.picture.contains(rect):
        return False
    return not any(rect.overlaps(face) for face in scene.faces.values())


def _times(size: Size, factor: float) -> Size:
    return size[0] * factor, size[1] * factor


def _in_column(scene: Scene, size: Size) -> Iterator[Place]:
    if scene.column is None:
        return
    height = size[1]
    y = scene.column.y
    while y + height <= scene.column.bottom:
        yield Place("column", 0.0, Rect(scene.column.x, y, scene.column.width, height))
        y += height + scene.gap
