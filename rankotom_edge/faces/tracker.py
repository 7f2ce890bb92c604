"""Detect now and then, follow in between: faces that keep their number from frame to frame.

A face is searched for in the whole picture, looked at closely where it may be (``looks``), and
followed by its motion from frame to frame (``motion``). It is shown once it has earned its track,
and a person who is lost for a second or so, or behind another for three, comes back under the same
number (``track``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankotom_edge.faces.appearance import associate, signature
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.motion import follow, glance, is_cut, moved_outside
from rankotom_edge.faces.second_pass import (
    HALVES,
    Detect,
    look_closer,
    look_into,
    overlap,
    without_doubles,
)
from rankotom_edge.faces.track import (
    CLEAR_STILL,
    ENOUGH,
    HIDDEN,
    Track,
    alone,
    clear_at_once,
    come_back,
    confirmed,
    followed_to,
    missed,
    out_of_sight,
    velocity_after,
    weighed,
    who_of,
)
from rankotom_edge.frame import Frame, Image

# Seconds.
SEARCH_EVERY = 0.5  # the whole picture, while every known face is in sight
SEARCH_SOON = 0.1  # while something moves elsewhere, or a face is lost
# For faces further away, by a detector that takes three times as long: in one half of the picture,
# then in the other. In the whole, beside near faces, it found 31 of 80 that were a fifteenth of its
# width; in the halves all.
SEARCH_FAR = 0.5
SEARCH_IDLE = 0.06  # while there is no face at all: every other frame of a camera
LOOK_EVERY = 0.15  # a closer look at each face; in between its motion alone drifts by 0.5 % of it
LINGER = 0.6  # a face that is followed but not found again: a hand passes, a head turns
# Who comes while somebody is lost is called somebody else only after this long: at first he may be
# half in the picture, or a blur, and not look like himself.
SECOND_THOUGHT = 0.4
LONGEST_STEP = 0.5  # between two frames; what lies further apart is not followed but found again

MOST_LOOKS = 4  # in one frame, so that a crowd costs each frame little more


@dataclass(frozen=True)
class TrackedFace:
    track: int
    face: Face
    detected: bool  # in this frame, or followed from an earlier one


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
    ``far``, seldom, for those in one half of the frame that are too far away for it.

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
        self._late = False  # the last frame came long after the one before
        self._half = 0  # of the picture that is searched for far faces next
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
        # What comes seldom, and not only late for once, can't earn its track by looks in a row.
        late = self._last is not None and frame.time - self._last.time > LONGEST_STEP
        seldom, self._late = late and self._late, late
        self._tracks = self._judged(frame, tracks, looked_for, sightings, seldom)
        self._last = frame
        return tuple(
            TrackedFace(track.number, track.face, detected=track.sighted == frame.time)
            for track in sorted(self._tracks, key=lambda track: track.number or 0)
            if track.number is not None and track.placed
        )

    def _each_for_itself(self, frame: Frame) -> tuple[TrackedFace, ...]:
        seen = self._looked_at(frame.image, self._found(frame.image, HALVES))
        clear = [face for face in seen if face.score >= CLEAR_STILL]
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
                velocity = velocity_after(track, face, frame.time - last.time)
                tracks.append(replace(track, face=face, velocity=velocity))
            elif unseen_for <= track.remembered_for:
                tracks.append(out_of_sight(track, self._tracks) if track.placed else track)
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
        parts: tuple[int, ...] = ()
        if far:
            self._searched_far = frame.time
            parts, self._half = (self._half,), 1 - self._half
        return tuple(
            face
            for face in self._found(frame.image, parts)
            if not any(overlap(face, known) > HIDDEN for known in placed)
        )

    def _found(self, image: Image, parts: Sequence[int]) -> tuple[Face, ...]:
        """By the one detector in the whole picture, by the other in these parts of it."""
        near_by = self._detect(image)
        if self._far is None or not parts:
            return near_by
        far_away = [face for part in parts for face in look_into(self._far, image, part)]
        return without_doubles([*near_by, *far_away])

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
        seldom: bool,
    ) -> tuple[Track, ...]:
        """The tracks after the looks: who was found, who was missed, who is new."""
        now = frame.time
        if not looked_for and not sightings:
            return tracks
        signatures = [signature(frame.image, face) for face in sightings]
        costs = np.full((len(tracks), len(sightings)), math.inf)
        for row, track in enumerate(tracks):
            by_itself = alone(track, tracks)
            for column, (face, seen) in enumerate(zip(sightings, signatures, strict=True)):
                costs[row, column] = min(
                    followed_to(track, face, seen, by_itself),
                    come_back(track, face, seen, 1.0, now),
                )
        found = dict(associate(costs))
        newcomers = [
            Track(None, face, seen, 0.0, now, now, placed=True, found=face, since=now)
            for column, (face, seen) in enumerate(zip(sightings, signatures, strict=True))
            if column not in found.values() and weighed(0, face.score) > 0
        ]
        judged = [confirmed(one, one.face, one.likeness, now) for one in newcomers]
        for row, track in enumerate(tracks):
            if row in found:
                face, seen = sightings[found[row]], signatures[found[row]]
                known = seen if alone(track, tracks, face) else track.likeness
                judged.append(confirmed(track, face, known, now))
            elif any(track is one for one in looked_for):
                judged += missed(track, [sightings[column] for column in found.values()], now)
            else:
                judged.append(track)
        if seldom:
            judged = [clear_at_once(track) for track in judged]
        return self._numbered(judged, now)

    def _numbered(self, tracks: Sequence[Track], now: float) -> tuple[Track, ...]:
        """Who has earned a track gets a number: that of a person lost just before, or a new one."""
        lost = [track for track in tracks if track.number is not None and track.lost]
        kept = [track for track in tracks if track.number is not None or track.evidence < ENOUGH]
        for track in tracks:
            if track.number is None and track.evidence >= ENOUGH:
                before = who_of(track, lost, now)
                if before is None and 0 < now - track.since < SECOND_THOUGHT and lost:
                    kept.append(track)
                elif before is None:
                    kept.append(replace(track, number=self._next_number()))
                else:
                    kept.append(replace(track, number=before.number, likeness=before.likeness))
                    lost = [one for one in lost if one is not before]
                    kept = [one for one in kept if one is not before]
        return tuple(kept)
