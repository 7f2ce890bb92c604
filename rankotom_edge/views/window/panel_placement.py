"""Finds a place for each face's panel: next to the face, over no face, and where it was before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from rankotom_edge.views.drawing.rect import Rect

Side: TypeAlias = Literal["right", "left", "below", "above", "column"]
Size: TypeAlias = tuple[float, float]

# All chosen by eye.
# A panel that shrank grows again only with this much room to spare. Without it, a face at the limit
# would make its panel change size at every frame.
GROW_MARGIN = 1.2
# The same for closing the column. That takes seconds of room anyway, so less will do, and a face in
# the middle of 640x480 leaves no more.
CLOSE_MARGIN = 1.04
# How far a face moves before its panel follows, in gaps: a detector's box trembles by 1 or 2 % of
# its width, and text that trembles cannot be read.
SLACK = 1.5
# Steps after which the search gives up: eight faces without a conflict need eight, and a crowd
# without a solution must not cost the frame.
SEARCH_STEPS = 300
MAX_BARS = 12  # faces of a crowd that are tried with bars
# Where along a side of its face a panel may be, from the middle, in panel heights or widths: in the
# middle, or far enough off that two panels fit into the gap between two faces.
OFFSETS = (0.0, -0.55, 0.55, -1.1, 1.1)
# Extra room that a panel needs where it moves to, as a share of the picture's width. A person in
# front of a camera sways by that much, and must not make the panel move again at once.
MOVE_MARGIN = 0.03


class Place(NamedTuple):
    """A panel, the side of its face that it is on, and where along that side (``OFFSETS``)."""

    side: Side
    offset: float
    rect: Rect
    level: int = 0  # index into the scene's panel sizes: 0 is the fullest
    stays: bool = False  # on the same side and offset as before


@dataclass(frozen=True)
class Placement:
    """The places of all panels, and when they last changed."""

    column: bool = False  # whether the column next to the picture is in use
    places: Mapping[int, Place] = field(default_factory=dict)  # by track
    left_out: frozenset[int] = frozenset()  # tracks without a panel, for want of room
    column_needed: float = -math.inf  # time of the last frame that needed the column
    changed: float = -math.inf  # time when a panel last became smaller or changed its side

    @property
    def in_column(self) -> bool:
        return any(place.side == "column" for place in self.places.values())

    @property
    def level(self) -> int:
        """The smallest panel's."""
        return max((place.level for place in self.places.values()), default=0)

    def is_steady_since(self, before: Placement) -> bool:
        """Whether no panel became smaller, changed its side or was the first in the column."""
        both = self.places.keys() & before.places.keys()
        return (
            self.level <= before.level
            and self.in_column <= before.in_column
            and all(self.places[track][:2] == before.places[track][:2] for track in both)
        )


@dataclass(frozen=True)
class Scene:
    """The faces and the room for their panels, in pixels of the canvas."""

    faces: Mapping[int, Rect]  # by track: the whole heads, which no panel may cover
    picture: Rect  # and the empty space around it: where panels may be
    column: Rect | None  # to the right of the picture; None while it is closed
    panel_sizes: Sequence[Size]  # the fullest first
    gap: float  # between a panel and anything else
    # The detector's boxes, without hair and ears: a panel that stays may come up to these.
    boxes: Mapping[int, Rect] | None = None
    crowded: bool = False  # panels need no move margin

    @property
    def move_margin(self) -> float:
        return self.gap if self.crowded else max(self.gap, MOVE_MARGIN * self.picture.width)


def arrange(scene: Scene, previous: Placement, may_grow: bool = True) -> Placement | None:
    """Places all panels at one size, the fullest that fits. None if even the smallest does not.

    A panel keeps its side and size while it can, and grows only if it ``may_grow``.
    """
    for level in range(0 if may_grow else previous.level, len(scene.panel_sizes)):
        levels = dict.fromkeys(scene.faces, level)
        if level < previous.level and _find_places(scene, levels, previous, GROW_MARGIN) is None:
            continue
        places = _find_places(scene, levels, previous)
        if places is not None:
            return _placement(previous, places)
    return None


def keep_places(scene: Scene, previous: Placement) -> Placement | None:
    """The same panels for the same faces, or fewer. None if some panel has to move."""
    if not scene.faces.keys() <= previous.places.keys() | previous.left_out:
        return None
    shown = scene.faces.keys() - previous.left_out
    levels = {track: previous.places[track].level for track in shown}
    if any(level >= len(scene.panel_sizes) for level in levels.values()):
        return None
    places = _find_places(scene, levels, previous)
    if places is None or not all(place.stays for place in places.values()):
        return None
    return replace(previous, places=_without_stays(places))


def arrange_most(scene: Scene, previous: Placement) -> Placement:
    """For a crowd too dense for panels of one size.

    Gives bars to as many faces as leave room for the smallest panels of all others. Faces that have
    bars keep them; among new faces the largest come first. If there is no room for all, as few
    faces as possible are left out.
    """
    scene = replace(scene, crowded=True)
    in_order = sorted(scene.faces, key=lambda track: _precedence(scene, previous, track))
    bars, smallest = (
        {
            track: list(_options(scene, track, level, size, previous.places.get(track)))
            for track in in_order
        }
        for level, size in list(enumerate(scene.panel_sizes))[-2:]
    )
    best: Placement | None = None
    for with_bars in range(min(len(in_order), MAX_BARS), -1, -1):
        wishes = [(track, bars[track]) for track in in_order[:with_bars]]
        wishes += [(track, smallest[track]) for track in in_order]
        places: dict[int, Place] = {}
        for track, options in wishes:
            if track not in places:
                free = (place for place in options if _is_clear_of(place, places.values(), scene))
                if (place := next(free, None)) is not None:
                    places[track] = place
        left_out = frozenset(scene.faces.keys() - places.keys())
        if best is None or len(left_out) < len(best.left_out):
            best = replace(_placement(previous, places), left_out=left_out)
        if not left_out:
            break
    assert best is not None
    return best


def is_roomy(scene: Scene) -> bool:
    """Whether all panels would fit with room to spare, wherever they are now."""
    return any(
        _find_places(scene, dict.fromkeys(scene.faces, level), Placement(), CLOSE_MARGIN)
        is not None
        for level in range(len(scene.panel_sizes))
    )


def _precedence(scene: Scene, previous: Placement, track: int) -> tuple[int, float]:
    """A sort key: who has the larger panel keeps it."""
    before = previous.places.get(track)
    level = len(scene.panel_sizes) if before is None else before.level
    return level, -scene.faces[track].width


def _placement(previous: Placement, places: Mapping[int, Place]) -> Placement:
    placement = replace(previous, places=_without_stays(places), left_out=frozenset())
    return replace(placement, column=placement.column or placement.in_column)


def _without_stays(places: Mapping[int, Place]) -> dict[int, Place]:
    return {track: place._replace(stays=False) for track, place in places.items()}


def _find_places(
    scene: Scene, levels: Mapping[int, int], previous: Placement, margin: float = 1.0
) -> dict[int, Place] | None:
    """A place for each track in ``levels``; None if there is none for some of them."""
    # Those that have a place choose first, so that a new face moves no other's panel.
    tracks = sorted(levels, key=lambda track: (track not in previous.places, track))
    options = []
    for track in tracks:
        width, height = scene.panel_sizes[levels[track]]
        size = width * margin, height * margin
        before = previous.places.get(track)
        options.append(list(_options(scene, track, levels[track], size, before)))
        if not options[-1]:
            return None
    chosen = _search(options, scene)
    return None if chosen is None else dict(zip(tracks, chosen, strict=True))


def _search(options: Sequence[Sequence[Place]], scene: Scene) -> list[Place] | None:
    """By backtracking: the first choice, in the order of preference, without overlapping panels."""
    chosen: list[Place] = []
    remaining = [iter(options[0])] if options else []
    steps = SEARCH_STEPS
    while remaining and steps:
        place = next(remaining[-1], None)
        if place is None:
            remaining.pop()
            if chosen:
                chosen.pop()
            continue
        steps -= 1
        if not _is_clear_of(place, chosen, scene):
            continue
        chosen.append(place)
        if len(chosen) == len(options):
            return chosen
        remaining.append(iter(options[len(chosen)]))
    return None if options else []


def _is_clear_of(place: Place, others: Iterable[Place], scene: Scene) -> bool:
    still = place.stays or place.side == "column"
    room = place.rect.grow(scene.gap / 4 if still else scene.move_margin)
    return not any(room.overlaps(other.rect) for other in others)


def _options(
    scene: Scene, track: int, level: int, size: Size, previous: Place | None
) -> Iterator[Place]:
    """The places where a panel covers no face, the best first."""
    for place in _by_preference(scene, track, size, previous):
        yield place._replace(level=level)


def _by_preference(scene: Scene, track: int, size: Size, previous: Place | None) -> Iterator[Place]:
    free = [place for place in _around_face(scene, track, size, previous) if _is_free(scene, place)]
    column = list(_in_column(scene, size))
    if previous is None:
        yield from (*free, *column)
        return
    if previous.side == "column":
        in_order = sorted(column, key=lambda place: abs(place.rect.y - previous.rect.y))
        for place in in_order:
            yield place._replace(stays=abs(place.rect.y - previous.rect.y) < scene.gap)
        yield from free
    else:
        # A panel that has to leave its place goes to the column: there it need not move again.
        yield from (place for place in free if place.stays)
        yield from column
        yield from (place for place in free if not place.stays)


def _around_face(scene: Scene, track: int, size: Size, previous: Place | None) -> Iterator[Place]:
    width, height = size
    picture, gap = scene.picture, scene.gap
    face = scene.faces[track].within(picture)
    # For each side: how much room there is, and where a panel starts.
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
            for offset in OFFSETS:
                x, y = start, face.y + face.height / 2 + (offset - 0.5) * height
                if sides is ends:
                    x, y = face.x + face.width / 2 + (offset - 0.5) * width, start
                stays = previous is not None and previous[:2] == (side, offset)
                if previous is not None and stays:
                    x, y = _follow((x, y), previous, SLACK * gap, gap / 2)
                x = max(picture.x, min(x, picture.right - width))
                y = max(picture.y, min(y, picture.bottom - height))
                rect = Rect(x, y, width, height)
                # A tall panel next to a small face may end up far from it.
                if stays or rect.overlaps(face.grow(2 * gap)):
                    yield Place(side, offset, rect, stays=stays)


def _follow(
    target: tuple[float, float], previous: Place, slack: float, near: float
) -> tuple[float, float]:
    """Moves a panel from its old place towards ``target`` only until it is ``slack`` away, or
    ``near`` in the direction of its face."""
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
    """Inside the picture and clear of every face; one that moves there needs MOVE_MARGIN too."""
    rect = place.rect
    if place.stays:
        boxes = (scene.boxes or scene.faces).values()
        return scene.picture.contains(rect) and not any(rect.overlaps(box) for box in boxes)
    shifted = rect if scene.crowded else _shift_away(rect, place.side, scene.move_margin)
    return scene.picture.contains(shifted) and not any(
        rect.overlaps(face) or shifted.overlaps(face) for face in scene.faces.values()
    )


def _shift_away(rect: Rect, side: Side, by: float) -> Rect:
    """From its face."""
    across = {"right": by, "left": -by}.get(side, 0.0)
    down = {"below": by, "above": -by}.get(side, 0.0)
    return rect._replace(x=rect.x + across, y=rect.y + down)


def _in_column(scene: Scene, size: Size) -> Iterator[Place]:
    if scene.column is None:
        return
    height = size[1]
    y = scene.column.y
    while y + height <= scene.column.bottom:
        yield Place("column", 0.0, Rect(scene.column.x, y, scene.column.width, height))
        y += height + scene.gap
