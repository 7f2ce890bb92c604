"""What is known of a face from frame to frame, and what it costs to take another one for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rankotom_edge.faces.appearance import (
    GATE,
    OTHER_PERSON,
    Signature,
    distance,
    near,
    renewed,
    unlikeness,
)
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.second_pass import overlap
from rankotom_edge.geometry import Similarity

# Seconds.
REMEMBER = 1.5  # a face that is gone keeps its number; at the border it is not found for a while
OF_LATE = 0.25  # what a velocity is averaged over
KEEPS_GOING = 1.0  # somebody out of sight in the direction that he had
A_MOMENT = (0.0, 0.15, 0.3)  # until two who approach each other are one behind the other
REMEMBER_BEHIND = 3.0  # one who is behind another may stay there

# A closer look weighs for a face by how far it scores above DOUBTFUL, against it by how far below;
# a miss scores 0. Faces (0.82 to 0.97) need two to four looks in a row, dark or blurred ones (0.70
# to 0.75) six to twelve; the skull (35 looks of up to 0.74, most 0) never got beyond 0.1.
DOUBTFUL = 0.65
ENOUGH = 0.6
# A picture that comes seldom has one look to tell; the skull had 0.73.
CLEAR = 0.75
# So has a photograph, where somebody chose what is on it. Of FERPlus's faces in a grey picture,
# which lack half of a head, 0.75 left out one in six, and of the angry ones every third.
CLEAR_STILL = 0.7

RENEWED = 0.3  # share of a new look in how a person is remembered
# What looks beyond another person's count for in someone who was followed: a passer-by beside him,
# or the wall behind, changes them, and his motion did not break.
MOVED = 0.1
STRANGER = 0.14  # unlikeness from which on it is somebody else (see identity)
HALF_SEEN = 0.3  # what looks count for in someone who comes out from behind another, who hides half
# Overlap from which on someone who was followed here, and is alone, is the same whatever the looks:
# when a camera changes its white balance, everybody looks different.
STAYED = 0.7
HIDDEN = 0.2  # overlap of boxes from which on two faces are one, or one behind the other


@dataclass(frozen=True, eq=False)
class Track:
    """What is known of a face; without a number it hasn't earned its track yet."""

    number: int | None
    face: Face  # where it was last; score 0 while it is followed but was not found again
    likeness: Signature
    evidence: float
    sighted: float  # the time when it was last found
    looked: float  # the time when it was last looked for
    placed: bool  # it is known where it is in this frame
    found: Face  # where it was last found
    since: float  # the time when it was first found
    velocity: complex = 0j  # pixels a second, while it was
    behind: bool = False  # it was lost behind another face, or on the way there

    @property
    def lost(self) -> bool:
        """It was looked for in vain, though it may still be followed."""
        return not self.placed or self.face.score == 0

    @property
    def remembered_for(self) -> float:
        """Seconds after it was last found."""
        return REMEMBER_BEHIND if self.behind else REMEMBER

    def whereabouts(self, now: float) -> tuple[Face, Face]:
        """Of somebody lost: where he was found last, and where he was going."""
        gone = self.velocity * min(now - self.sighted, KEEPS_GOING)
        return self.found, self.found.carried(Similarity(1 + 0j, gone))


def weighed(evidence: float, score: float) -> float:
    """The evidence for a face after another closer look; 0 where there is none left."""
    return max(0.0, evidence + score - DOUBTFUL)


def alone(track: Track, tracks: Sequence[Track], where: Face | None = None) -> bool:
    """Nobody else in sight is near it, or near to where it is now."""
    face = where or track.face
    return not any(near(face, one.face) for one in tracks if one is not track and one.placed)


def clear_at_once(track: Track) -> Track:
    """One look is enough where no second one comes."""
    is_clear = track.placed and track.face.score >= CLEAR
    return replace(track, evidence=ENOUGH) if is_clear else track


def out_of_sight(track: Track, tracks: Sequence[Track]) -> Track:
    """Looked for at once where it was last."""
    behind = track.behind or any(
        walks_behind(track, one) for one in tracks if one is not track and one.placed
    )
    return replace(track, placed=False, looked=-math.inf, behind=behind)


def walks_behind(track: Track, other: Track) -> bool:
    """Whether two faces are one behind the other, or will be in a moment if both go on."""
    closing = track.velocity - other.velocity
    return any(
        overlap(track.face.carried(Similarity(1 + 0j, closing * seconds)), other.face) > HIDDEN
        for seconds in A_MOMENT
    )


def velocity_after(track: Track, face: Face, seconds: float) -> complex:
    if track.lost or seconds <= 0:
        return track.velocity
    step = complex(*face.centre) - complex(*track.face.centre)
    share = -math.expm1(-seconds / OF_LATE)
    return track.velocity + share * (step / seconds - track.velocity)


def followed_to(track: Track, face: Face, seen: Signature, by_itself: bool) -> float:
    """What it costs to take a face for one that was followed to where it is now."""
    if not track.placed:
        return math.inf
    stayed = by_itself and overlap(track.face, face) > STAYED
    unlike = 0.0 if stayed else unlikeness(track.likeness, seen)
    if not track.lost and weighed(0, face.score) > 0:
        unlike -= (1 - MOVED) * max(0.0, unlike - OTHER_PERSON)
    return distance(track.face, face, unlike, 0.0)


def come_back(track: Track, face: Face, seen: Signature, trust: float, now: float) -> float:
    """What it costs to take a face for one that was lost: looks must agree, wherever it is."""
    if not track.lost:
        return math.inf
    unlike = trust * unlikeness(track.likeness, seen)
    if unlike > STRANGER:
        return math.inf
    unseen_for = now - track.sighted
    return min(distance(place, face, unlike, unseen_for) for place in track.whereabouts(now))


def confirmed(track: Track, face: Face, seen: Signature, now: float) -> Track:
    # How a newcomer looks is not yet remembered: the first look may show half of him.
    share = 1.0 if track.number is None else RENEWED
    return replace(
        track,
        face=face,
        likeness=renewed(track.likeness, seen, share),
        evidence=min(1.0, weighed(track.evidence, face.score)),
        sighted=now,
        looked=now,
        placed=True,
        found=face,
        behind=False,
    )


def who_of(track: Track, lost: Sequence[Track], now: float) -> Track | None:
    """Who of the lost a newcomer is."""

    def apart(one: Track) -> float:
        trust = HALF_SEEN if one.behind else 1.0
        return come_back(one, track.face, track.likeness, trust, now)

    nearest = min(lost, key=apart, default=None)
    return nearest if nearest is not None and apart(nearest) <= GATE else None


def missed(track: Track, others: Iterable[Face], now: float) -> tuple[Track, ...]:
    """A face that was looked for in vain: one that hasn't earned its track is given up.

    One that another person's face overlaps is behind it, and following would follow that one.
    """
    if track.number is None:
        return ()
    behind = track.placed and any(overlap(track.face, other) > HIDDEN for other in others)
    return (
        replace(
            track,
            face=replace(track.face, score=0.0),
            looked=now,
            placed=track.placed and not behind,
            behind=track.behind or behind,
        ),
    )
