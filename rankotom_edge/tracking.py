"""Detect now and then, follow in between: faces that keep their number from frame to frame.

A face is searched for in the whole picture, looked at closely where it may be (``looks``), and
followed by its motion from frame to frame (``motion``). It is shown once it has earned its track,
and a person who is lost for less than a second comes back under the same number (``identity``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankotom_edge.faces import Face, Image
from rankotom_edge.frame import Frame
from rankotom_edge.identity import (
    GATE,
    Signature,
    associate,
    distance,
    near,
    signature,
    unlikeness,
)
from rankotom_edge.looks import Detect, look_closer, overlap, without_doubles
from rankotom_edge.motion import follow, glance, is_cut, moved_outside

# Seconds.
SEARCH_EVERY = 0.5  # the whole picture, while every known face is in sight
SEARCH_SOON = 0.1  # while something moves elsewhere, or a face is lost
SEARCH_FAR = 1.0  # for faces further away, by a detector that takes three times as long
SEARCH_IDLE = 0.06  # while there is no face at all: every other frame of a camera
LOOK_EVERY = 0.15  # a closer look at each face; in between its motion alone drifts by 0.5 % of it
LINGER = 0.6  # a face that is followed but not found again: a hand passes, a head turns
REMEMBER = 1.5  # a face that is gone keeps its number; at the border it is not found for a while
LONGEST_STEP = 0.5  # between two frames; what lies further apart is not followed but found again

MOST_LOOKS = 4  # in one frame, so that a crowd costs each frame little more

# A closer look weighs for a face by how far it scores above DOUBTFUL, against it by how far below;
# a miss scores 0. Faces (0.82 to 0.97) need two to four looks in a row, dark or blurred ones (0.70
# to 0.75) six to twelve; the skull (35 looks of up to 0.74, most 0) never got beyond 0.1.
DOUBTFUL = 0.65
ENOUGH = 0.6
CLEAR = 0.75  # a still picture has one look to tell

RENEWED = 0.3  # share of a new look in how a person is remembered
STRANGER = 0.14  # unlikeness from which on it is somebody else (see identity)
HALF_SEEN = 0.4  # what looks count for in someone who comes out from behind another
# Overlap from which on someone who was followed here, and is alone, is the same whatever the looks:
# when a camera changes its white balance, everybody looks different.
STAYED = 0.7
HIDDEN = 0.2  # overlap of boxes from which on two faces are one, or one behind the other


@dataclass(frozen=True)
class TrackedFace:
    track: int
    face: Face
    detected: bool  # in this frame, or followed from an earlier one


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


def weighed(evidence: float, score: float) -> float:
    """The evidence for a face after another closer look; 0 where there is none left."""
    return max(0.0, evidence + score - DOUBTFUL)


def needs_search(now: float, searched: float, tracks: Sequence[Track], moved: bool) -> bool:
    """Whether to search the whole picture; ``moved``: something did, away from the known faces."""
    if not tracks:
        return now - searched >= SEARCH_IDLE
    unsettled = moved or not all(track.placed for track in tracks)
    return now - searched >= (SEARCH_SOON if unsettled else SEARCH_EVERY)


def needs_look(track: Track, now: float, tracks: Sequence[Track]) -> bool:
    """Whether to look closely at a face: it is new, or near another, or it is time again."""
    if not track.placed:
        return now - track.looked >= SEARCH_SOON
    touched = any(overlap(track.face, one.face) > 0 for one in tracks if one is not track)
    return track.number is None or touched or now - track.looked >= LOOK_EVERY


class Tracker:
    """``detect`` is asked for faces in the frame and in close-ups of 192x192 that are cut from it;
    ``far``, seldom, for those in the frame that are too far away for it.

    With ``stills`` each frame stands for itself: every face that is clear in a closer look is
    returned, under a new number.
    """

    def __init__(self, detect: Detect, *, far: Detect | None = None, stills: bool = False) -> None:
        self._detect = detect
        self._far = far
        self._stills = stills
        self._tracks: tuple[Track, ...] = ()
        self._last: Frame | None = None
        self._searched = self._searched_far = -math.inf
        self._glance_searched: Image = np.zeros((1, 1), dtype=np.uint8)
        self._left_over: tuple[Face, ...] = ()  # places that a search found, still to be looked at
        self._given = 0

    def update(self, frame: Frame) -> tuple[TrackedFace, ...]:
        """The faces of the frame that have earned their track, by their number."""
        if self._stills:
            return self._each_for_itself(frame)
        tracks = self._followed(frame)
        targets = self._left_over or self._searched_for(frame, tracks)
        due = sorted(
            (track for track in tracks if needs_look(track, frame.time, tracks)),
            key=lambda track: track.looked,
        )
        # The known faces first, but for half of the looks; the other places in the next frame.
        room = MOST_LOOKS - min(len(due), MOST_LOOKS // 2)
        targets, self._left_over = targets[:room], targets[room:]
        looked_for = due[: MOST_LOOKS - len(targets)]
        places = [*targets, *(track.face for track in looked_for)]
        sightings = self._looked_at(frame.image, places)
        self._tracks = self._judged(frame, tracks, looked_for, sightings)
        self._last = frame
        return tuple(
            TrackedFace(track.number, track.face, detected=track.sighted == frame.time)
            for track in sorted(self._tracks, key=lambda track: track.number or 0)
            if track.number is not None and track.placed
        )

    def _each_for_itself(self, frame: Frame) -> tuple[TrackedFace, ...]:
        seen = self._looked_at(frame.image, self._found(frame.image, far=True))
        clear = [face for face in seen if face.score >= CLEAR]
        return tuple(TrackedFace(self._next_number(), face, detected=True) for face in clear)

    def _next_number(self) -> int:
        self._given += 1
        return self._given

    def _followed(self, frame: Frame) -> tuple[Track, ...]:
        """The known faces, where they have moved to since the last frame; none after a cut."""
        last = self._last
        if last is None or frame.time < last.time:
            return self._afresh()
        continuous = (
            frame.time - last.time <= LONGEST_STEP and frame.image.shape == last.image.shape
        )
        tracks = []
        for track in self._tracks:
            unseen_for = frame.time - track.sighted
            follows = continuous and track.placed and unseen_for <= LINGER
            face = follow(last.grey, frame.grey, track.face) if follows else None
            if face is not None:
                tracks.append(replace(track, face=face))
            elif unseen_for <= REMEMBER:
                # Looked for at once where it was last.
                looked = -math.inf if track.placed else track.looked
                tracks.append(replace(track, placed=False, looked=looked))
        # Where every face could be followed it is the same scene: a cut leaves none its motion.
        followed = tracks and all(track.placed for track in tracks)
        if not followed and is_cut(glance(last.grey), glance(frame.grey)):
            return self._afresh()
        return tuple(tracks)

    def _afresh(self) -> tuple[Track, ...]:
        self._searched = self._searched_far = -math.inf
        self._left_over = ()
        return ()

    def _searched_for(self, frame: Frame, tracks: tuple[Track, ...]) -> tuple[Face, ...]:
        """What the whole picture shows beside the known faces, if it is time to search it."""
        if tracks and frame.time - self._searched < SEARCH_SOON:
            return ()
        seen_now = glance(frame.grey)
        placed = [track.face for track in tracks if track.placed]
        moved = self._glance_searched.shape == seen_now.shape and moved_outside(
            self._glance_searched, seen_now, placed, frame.image.shape
        )
        far = self._far is not None and frame.time - self._searched_far >= SEARCH_FAR
        if not (far or needs_search(frame.time, self._searched, tracks, moved)):
            return ()
        self._searched, self._glance_searched = frame.time, seen_now
        if far:
            self._searched_far = frame.time
        return tuple(
            face
            for face in self._found(frame.image, far)
            if not any(overlap(face, known) > HIDDEN for known in placed)
        )

    def _found(self, image: Image, far: bool) -> tuple[Face, ...]:
        near_by = self._detect(image)
        if self._far is None or not far:
            return near_by
        return without_doubles([*near_by, *self._far(image)])

    def _looked_at(self, image: Image, places: Iterable[Face]) -> tuple[Face, ...]:
        return without_doubles(
            [face for place in places for face in look_closer(self._detect, image, place)]
        )

    def _judged(
        self,
        frame: Frame,
        tracks: tuple[Track, ...],
        looked_for: Sequence[Track],
        sightings: tuple[Face, ...],
    ) -> tuple[Track, ...]:
        """The tracks after the looks: who was found, who was missed, who is new."""
        now = frame.time
        if not looked_for and not sightings:
            return tracks
        signatures = [signature(frame.image, face) for face in sightings]
        costs = np.full((len(tracks), len(sightings)), math.inf)
        for row, track in enumerate(tracks):
            unseen_for = 0.0 if track.placed else now - track.sighted
            for column, (face, seen) in enumerate(zip(sightings, signatures, strict=True)):
                unlike = unlikeness(track.likeness, seen)
                if track.placed and _alone(track, tracks) and overlap(track.face, face) > STAYED:
                    unlike = 0.0
                if track.placed or unlike <= STRANGER:
                    costs[row, column] = distance(track.face, face, unlike, unseen_for)
        found = dict(associate(costs))
        newcomers = [
            Track(None, face, seen, 0.0, now, now, placed=True)
            for column, (face, seen) in enumerate(zip(sightings, signatures, strict=True))
            if column not in found.values() and weighed(0, face.score) > 0
        ]
        judged = [_confirmed(one, one.face, one.likeness, now) for one in newcomers]
        for row, track in enumerate(tracks):
            if row in found:
                face, seen = sightings[found[row]], signatures[found[row]]
                known = seen if _alone(track, tracks, face) else track.likeness
                judged.append(_confirmed(track, face, known, now))
            elif any(track is one for one in looked_for):
                judged += _missed(track, [sightings[column] for column in found.values()], now)
            else:
                judged.append(track)
        return self._numbered(judged, now)

    def _numbered(self, tracks: Sequence[Track], now: float) -> tuple[Track, ...]:
        """Who has earned a track gets a number: that of a person lost just before, or a new one."""
        lost = [track for track in tracks if track.number is not None and not track.placed]
        kept = [track for track in tracks if track.number is not None or track.evidence < ENOUGH]
        for track in tracks:
            if track.number is None and track.evidence >= ENOUGH:
                others = [one for one in tracks if one is not track and one.placed]
                crowded = any(near(track.face, one.face) for one in others)
                before = _nearest(track, lost, now, HALF_SEEN if crowded else 1.0)
                if before is None:
                    kept.append(replace(track, number=self._next_number()))
                else:
                    kept.append(replace(track, number=before.number, likeness=before.likeness))
                    lost = [one for one in lost if one is not before]
                    kept = [one for one in kept if one is not before]
        return tuple(kept)


def _alone(track: Track, tracks: Sequence[Track], where: Face | None = None) -> bool:
    """Nobody else is near it, or near to where it is now."""
    face = where or track.face
    return not any(near(face, one.face) for one in tracks if one is not track)


def _confirmed(track: Track, face: Face, seen: Signature, now: float) -> Track:
    evidence = min(1.0, weighed(track.evidence, face.score))
    remembered = track.likeness + RENEWED * (seen - track.likeness)
    return Track(track.number, face, remembered, evidence, now, now, placed=True)


def _nearest(track: Track, lost: Sequence[Track], now: float, trust: float) -> Track | None:
    """Who of the lost it may be: after an absence looks must agree, wherever it is."""

    def apart(one: Track) -> float:
        unlike = trust * unlikeness(one.likeness, track.likeness)
        if unlike > STRANGER:
            return math.inf
        return distance(one.face, track.face, unlike, now - one.sighted)

    nearest = min(lost, key=apart, default=None)
    return nearest if nearest is not None and apart(nearest) <= GATE else None


def _missed(track: Track, others: Iterable[Face], now: float) -> tuple[Track, ...]:
    """A face that was looked for in vain: one that hasn't earned its track is given up.

    One that another person's face overlaps is behind it, and following would follow that one.
    """
    if track.number is None:
        return ()
    behind = any(overlap(track.face, other) > HIDDEN for other in others)
    unfound = replace(track.face, score=0.0)
    return (replace(track, face=unfound, looked=now, placed=track.placed and not behind),)
