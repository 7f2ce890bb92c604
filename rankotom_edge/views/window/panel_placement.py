"""Where the panels go: beside their faces, over none of them, and where they were before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

Side: TypeAlias = Literal["right", "left", "below", "above", "column"]
Size: TypeAlias = tuple[float, float]

# A panel that shrank grows again only with this much room to spare: else a face at the limit would
# make it flip at every frame.
SPARE = 1.2
# The same for a picture that gets its size back; it is asked for seconds on end, so that less will
# do, and a face in the middle of 640x480 leaves no more.
ROOMY = 1.04
# How far a face moves before it pulls its panel along, in gaps: a detector's box trembles by 1 or
# 2 % of its width, and text that trembles can't be read.
SLACK = 1.5
# Steps of the search before it is given up: eight faces without a conflict need eight, and a
# hopeless crowd must not cost the frame.
SEARCH_STEPS = 300
MOST_BARS = 12  # faces of a crowd that are tried with bars
# Where along a side of its face a panel may be, from the middle, in its own heights or widths: in
# the middle, or so far off that two panels find room in the gap between two faces.
ALONG = (0.0, -0.55, 0.55, -1.1, 1.1)
# What a panel needs to move somewhere, beside its own size, as a share of the picture's width. Who
# sits before a camera sways by that much, and must not push it on at once.
ELBOW_ROOM = 0.03


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
    """A panel, the side of its face that it is on, and where along that side (``ALONG``)."""

    side: Side
    along: float
    rect: Rect
    level: int = 0  # which of the scene's panel sizes: 0 is the fullest
    stays: bool = False  # where it was before


@dataclass(frozen=True)
class Layout:
    column: bool = False  # whether the column beside the picture is in use
    places: Mapping[int, Place] = field(default_factory=dict)  # by track
    left_out: frozenset[int] = frozenset()  # tracks that there was no room for
    column_needed: float = -math.inf  # time of the last frame that could not do without
    changed: float = -math.inf  # time when a panel last became smaller or changed its side

    @property
    def in_column(self) -> bool:
        return any(place.side == "column" for place in self.places.values())

    @property
    def level(self) -> int:
        """Of the smallest panel."""
        return max((place.level for place in self.places.values()), default=0)

    def is_as_calm_as(self, before: Layout) -> bool:
        """Whether nobody's panel became smaller or changed its side, and the column was in use."""
        both = self.places.keys() & before.places.keys()
        return (
            self.level <= before.level
            and self.in_column <= before.in_column
            and all(self.places[track][:2] == before.places[track][:2] for track in both)
        )


@dataclass(frozen=True)
class Scene:
    """What there is to arrange, in pixels of the canvas."""

    faces: Mapping[int, Rect]  # by track; what of a person must not be covered
    picture: Rect  # and what lies around it: where panels may be
    column: Rect | None  # room beside the picture, where it is open
    sizes: Sequence[Size]  # of a panel, the fullest first
    gap: float  # between a panel and anything else
    # What a panel that stays may come up to: the detector's boxes, without hair and ears.
    cores: Mapping[int, Rect] | None = None
    crowded: bool = False  # no elbow room

    @property
    def elbow_room(self) -> float:
        return self.gap if self.crowded else max(self.gap, ELBOW_ROOM * self.picture.width)


def arrange(scene: Scene, previous: Layout, may_grow: bool = True) -> Layout | None:
    """A place for each face's panel, all of one size, the fullest that fits; None: none fits.

    A panel stays on its side and at its size while it can, and grows only if it ``may_grow``.
    """
    for level in range(0 if may_grow else previous.level, len(scene.sizes)):
        levels = dict.fromkeys(scene.faces, level)
        if level < previous.level and _placed(scene, levels, previous, SPARE) is None:
            continue
        places = _placed(scene, levels, previous)
        if places is not None:
            return _layout(previous, places)
    return None


def kept(scene: Scene, previous: Layout) -> Layout | None:
    """The same panels for the faces that are still there; None where they need to be arranged
    anew."""
    if not scene.faces.keys() <= previous.places.keys() | previous.left_out:
        return None
    shown = scene.faces.keys() - previous.left_out
    levels = {track: previous.places[track].level for track in shown}
    if any(level >= len(scene.sizes) for level in levels.values()):
        return None
    places = _placed(scene, levels, previous)
    if places is None or not all(place.stays for place in places.values()):
        return None
    return replace(previous, places=_at_rest(places))


def arrange_most(scene: Scene, previous: Layout) -> Layout:
    """Where it is too crowded for bars of one size: bars for as many faces as leave room for the
    smallest panels of the others, the largest of the newcomers first; else for the most."""
    scene = replace(scene, crowded=True)
    in_order = sorted(scene.faces, key=lambda track: _precedence(scene, previous, track))
    bars, smallest = (
        {
            track: list(_options(scene, track, level, size, previous.places.get(track)))
            for track in in_order
        }
        for level, size in list(enumerate(scene.sizes))[-2:]
    )
    best: Layout | None = None
    for with_bars in range(min(len(in_order), MOST_BARS), -1, -1):
        wishes = [(track, bars[track]) for track in in_order[:with_bars]]
        wishes += [(track, smallest[track]) for track in in_order]
        places: dict[int, Place] = {}
        for track, options in wishes:
            if track not in places:
                free = (place for place in options if _is_apart(place, places.values(), scene))
                if (place := next(free, None)) is not None:
                    places[track] = place
        left_out = frozenset(scene.faces.keys() - places.keys())
        if best is None or len(left_out) < len(best.left_out):
            best = replace(_layout(previous, places), left_out=left_out)
        if not left_out:
            break
    assert best is not None
    return best


def is_roomy(scene: Scene) -> bool:
    """Whether there is room for everybody's panel, from a blank sheet, and a little more."""
    return any(
        _placed(scene, dict.fromkeys(scene.faces, level), Layout(), ROOMY) is not None
        for level in range(len(scene.sizes))
    )


def _precedence(scene: Scene, previous: Layout, track: int) -> tuple[int, float]:
    """Who has the larger panel keeps it."""
    before = previous.places.get(track)
    level = len(scene.sizes) if before is None else before.level
    return level, -scene.faces[track].width


def _layout(previous: Layout, places: Mapping[int, Place]) -> Layout:
    layout = replace(previous, places=_at_rest(places), left_out=frozenset())
    return replace(layout, column=layout.column or layout.in_column)


def _at_rest(places: Mapping[int, Place]) -> dict[int, Place]:
    return {track: place._replace(stays=False) for track, place in places.items()}


def _placed(
    scene: Scene, levels: Mapping[int, int], previous: Layout, spare: float = 1.0
) -> dict[int, Place] | None:
    """A place for each of the tracks that have a level."""
    # Those that have a place choose first, so that a newcomer moves nobody.
    tracks = sorted(levels, key=lambda track: (track not in previous.places, track))
    options = []
    for track in tracks:
        size = _times(scene.sizes[levels[track]], spare)
        before = previous.places.get(track)
        options.append(list(_options(scene, track, levels[track], size, before)))
        if not options[-1]:
            return None
    chosen = _search(options, scene)
    return None if chosen is None else dict(zip(tracks, chosen, strict=True))


def _search(options: Sequence[Sequence[Place]], scene: Scene) -> list[Place] | None:
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
        if not _is_apart(place, chosen, scene):
            continue
        chosen.append(place)
        if len(chosen) == len(options):
            return chosen
        turns.append(iter(options[len(chosen)]))
    return None if options else []


def _is_apart(place: Place, others: Iterable[Place], scene: Scene) -> bool:
    still = place.stays or place.side == "column"
    room = place.rect.grown(scene.gap / 4 if still else scene.elbow_room)
    return not any(room.overlaps(other.rect) for other in others)


def _options(
    scene: Scene, track: int, level: int, size: Size, previous: Place | None
) -> Iterator[Place]:
    """The places where a face's panel covers no face, the best first."""
    for place in _in_order(scene, track, size, previous):
        yield place._replace(level=level)


def _in_order(scene: Scene, track: int, size: Size, previous: Place | None) -> Iterator[Place]:
    beside = [place for place in _beside(scene, track, size, previous) if _is_free(scene, place)]
    column = list(_in_column(scene, size))
    if previous is None:
        yield from (*beside, *column)
        return
    if previous.side == "column":
        in_order = sorted(column, key=lambda place: abs(place.rect.y - previous.rect.y))
        for place in in_order:
            yield place._replace(stays=abs(place.rect.y - previous.rect.y) < scene.gap)
        yield from beside
    else:
        # Who is pushed away goes to the column, where nobody pushes.
        yield from (place for place in beside if place.stays)
        yield from column
        yield from (place for place in beside if not place.stays)


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
                x, y = start, face.y + face.height / 2 + (along - 0.5) * height
                if sides is ends:
                    x, y = face.x + face.width / 2 + (along - 0.5) * width, start
                stays = previous is not None and previous[:2] == (side, along)
                if previous is not None and stays:
                    x, y = _leashed((x, y), previous, SLACK * gap, gap / 2)
                x = max(picture.x, min(x, picture.right - width))
                y = max(picture.y, min(y, picture.bottom - height))
                rect = Rect(x, y, width, height)
                if rect.overlaps(face.grown(2 * gap)) or stays:  # not far off a small one
                    yield Place(side, along, rect, stays=stays)


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
    """Inside the picture and clear of every face; to move there takes elbow room as well."""
    rect = place.rect
    if place.stays:
        cores = (scene.cores or scene.faces).values()
        return scene.picture.contains(rect) and not any(rect.overlaps(core) for core in cores)
    pushed = rect if scene.crowded else _pushed(rect, place.side, scene.elbow_room)
    return scene.picture.contains(pushed) and not any(
        rect.overlaps(face) or pushed.overlaps(face) for face in scene.faces.values()
    )


def _pushed(rect: Rect, side: Side, by: float) -> Rect:
    """Away from its face."""
    across = {"right": by, "left": -by}.get(side, 0.0)
    down = {"below": by, "above": -by}.get(side, 0.0)
    return rect._replace(x=rect.x + across, y=rect.y + down)


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
