"""What is known of one face from frame to frame, and how that changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rankotom_edge.faces.appearance import Appearance, are_neighbours, update_appearance
from rankotom_edge.faces.face import Face, overlap
from rankotom_edge.faces.false_positives import CLEAR_SCORE, ENOUGH_EVIDENCE, add_evidence
from rankotom_edge.geometry import Similarity

# Chosen by eye; `make crossings` prints how often people keep their numbers. In seconds:
MEMORY = 1.5  # a lost face keeps its number; at the border it is not detected for a while
MEMORY_BEHIND = 3.0  # a face hidden behind another may stay there
VELOCITY_TIME = 0.25  # over which a velocity is averaged
KEEPS_MOVING = 1.0  # a lost person is expected to continue in the same direction
SOON = (0.0, 0.15, 0.3)  # when to check whether one face will be behind another

APPEARANCE_WEIGHT = 0.3  # of a new detection in the remembered appearance
HIDDEN = 0.2  # overlap of boxes above which two faces are one, or one is behind the other


@dataclass(frozen=True, eq=False)
class Track:
    """What is known of a face. It gets its number once there is enough evidence for it."""

    number: int | None
    face: Face  # its last place; score 0 while it is followed but was not detected again
    appearance: Appearance
    evidence: float
    found_at: float  # the time when it was last detected
    searched_at: float  # the time when it was last searched for
    placed: bool  # its place in this frame is known
    found: Face  # as it was last detected
    since: float  # the time when it was first detected
    velocity: complex = 0j  # pixels a second, while it was detected
    behind: bool = False  # it was lost behind another face, or on the way there

    @property
    def lost(self) -> bool:
        """It was not detected where it should be, though it may still be followed."""
        return not self.placed or self.face.score == 0

    @property
    def memory(self) -> float:
        """Seconds after its last detection until it is forgotten."""
        return MEMORY_BEHIND if self.behind else MEMORY

    def likely_places(self, now: float) -> tuple[Face, Face]:
        """Of a lost person: where they were detected last, and where they were going."""
        moved = self.velocity * min(now - self.found_at, KEEPS_MOVING)
        return self.found, self.found.transform(Similarity(1 + 0j, moved))

    def is_alone(self, tracks: Sequence[Track], face: Face | None = None) -> bool:
        """Whether no other visible face is near this one (or near ``face``, its new place)."""
        place = face or self.face
        return not any(
            are_neighbours(place, other.face)
            for other in tracks
            if other is not self and other.placed
        )

    def accept_if_clear(self) -> Track:
        """For sources whose frames come too seldom to collect evidence."""
        is_clear = self.placed and self.face.score >= CLEAR_SCORE
        return replace(self, evidence=ENOUGH_EVIDENCE) if is_clear else self

    def lose_sight(self, tracks: Sequence[Track]) -> Track:
        """A face that can no longer be followed. It is searched for at once."""
        behind = self.behind or any(
            self.is_soon_behind(other) for other in tracks if other is not self and other.placed
        )
        return replace(self, placed=False, searched_at=-math.inf, behind=behind)

    def is_soon_behind(self, other: Track) -> bool:
        """Whether two faces are one behind the other, or will be if both keep moving."""
        closing = self.velocity - other.velocity
        return any(
            overlap(self.face.transform(Similarity(1 + 0j, closing * seconds)), other.face) > HIDDEN
            for seconds in SOON
        )

    def average_velocity(self, face: Face, seconds: float) -> complex:
        """The track's velocity after it moved to ``face`` within ``seconds``."""
        if self.lost or seconds <= 0:
            return self.velocity
        step = complex(*face.centre) - complex(*self.face.centre)
        weight = -math.expm1(-seconds / VELOCITY_TIME)
        return self.velocity + weight * (step / seconds - self.velocity)

    def mark_found(self, face: Face, appearance: Appearance, now: float) -> Track:
        """After a detection. A newcomer's appearance is replaced: at first half may be hidden."""
        weight = 1.0 if self.number is None else APPEARANCE_WEIGHT
        return replace(
            self,
            face=face,
            appearance=update_appearance(self.appearance, appearance, weight),
            evidence=min(1.0, add_evidence(self.evidence, face.score)),
            found_at=now,
            searched_at=now,
            placed=True,
            found=face,
            behind=False,
        )

    def mark_missed(self, others: Iterable[Face], now: float) -> Track | None:
        """After a search that did not detect it; None if it never got a number.

        A face that another person's face overlaps is behind it, and is not followed further.
        """
        if self.number is None:
            return None
        behind = self.placed and any(overlap(self.face, other) > HIDDEN for other in others)
        return replace(
            self,
            face=replace(self.face, score=0.0),
            searched_at=now,
            placed=self.placed and not behind,
            behind=self.behind or behind,
        )
