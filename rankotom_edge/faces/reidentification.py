"""Decides who is who: whether a detection is a person being followed, one who was lost, or new.

Each pair of a known person and a detection has a cost, made of the distance, the growth and the
difference in appearance. ``assignment`` finds the cheapest pairs.
"""

import math
from collections.abc import Sequence

from rankotom_edge.faces.appearance import OTHER_PERSON, Appearance, appearance_difference
from rankotom_edge.faces.face import Face, overlap
from rankotom_edge.faces.false_positives import add_evidence
from rankotom_edge.faces.track import Track

# Chosen by eye; `make crossings` prints how often people are confused.
SPEED = 4.0  # face widths a second that a person may move while out of sight
MAX_COST = 1.6  # of a match: the appearance of someone else, or a step of one and a half faces
STRANGER = 0.14  # difference in appearance above which a lost person is someone else
# Weight of the difference beyond OTHER_PERSON for a person who was followed: a passer-by, or the
# wall behind, changes the appearance, while the motion did not break.
FOLLOWED_WEIGHT = 0.1
BEHIND_WEIGHT = 0.3  # weight of the appearance of a person who was half hidden by another
# Overlap above which a person who was followed, and is alone, is the same whatever the appearance:
# a change of white balance changes everybody's.
STAYED = 0.7


def follow_cost(track: Track, face: Face, appearance: Appearance, is_alone: bool) -> float:
    """The cost of matching a detection with a person who was followed to this frame."""
    if not track.placed:
        return math.inf
    stayed = is_alone and overlap(track.face, face) > STAYED
    difference = 0.0 if stayed else appearance_difference(track.appearance, appearance)
    if not track.lost and add_evidence(0, face.score) > 0:
        difference -= (1 - FOLLOWED_WEIGHT) * max(0.0, difference - OTHER_PERSON)
    return match_cost(track.face, face, difference, 0.0)


def return_cost(
    track: Track, face: Face, appearance: Appearance, now: float, weight: float = 1.0
) -> float:
    """The cost of matching a detection with a lost person, whose appearance must agree.

    ``weight`` is that of the difference in appearance.
    """
    if not track.lost:
        return math.inf
    difference = weight * appearance_difference(track.appearance, appearance)
    if difference > STRANGER:
        return math.inf
    unseen = now - track.found_at
    return min(match_cost(place, face, difference, unseen) for place in track.likely_places(now))


def match_cost(known: Face, seen: Face, difference: float, unseen: float) -> float:
    """Step in face widths, growth, and difference in appearance; the step counts for less the
    longer the person was ``unseen``, in seconds."""
    step = math.dist(known.centre, seen.centre) / (0.5 * (known.box[2] + seen.box[2]))
    growth = abs(math.log(seen.box[2] / known.box[2]))
    return step / (1 + SPEED * unseen) + growth + difference / OTHER_PERSON


def find_lost_person(newcomer: Track, lost: Sequence[Track], now: float) -> Track | None:
    """The lost person that a newcomer is; None if the newcomer is someone else."""

    def cost(track: Track) -> float:
        weight = BEHIND_WEIGHT if track.behind else 1.0
        return return_cost(track, newcomer.face, newcomer.appearance, now, weight)

    nearest = min(lost, key=cost, default=None)
    return nearest if nearest is not None and cost(nearest) <= MAX_COST else None
