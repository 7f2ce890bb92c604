"""Detects faces now and then and follows them in between, so that each keeps its number.

The detector searches the whole picture, then checks each face in a close-up (``second_pass``);
between detections a face is followed by its motion (``motion``). It gets a number once there is
enough evidence that it is a face (``false_positives``). A person who is lost for a second or so, or
behind another for three, comes back under the same number (``reidentification``).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankotom_edge.faces.appearance import measure_appearance
from rankotom_edge.faces.assignment import assign
from rankotom_edge.faces.face import Face, overlap
from rankotom_edge.faces.false_positives import CLEAR_SCORE_IN_PHOTO, ENOUGH_EVIDENCE, add_evidence
from rankotom_edge.faces.motion import follow_face
from rankotom_edge.faces.reidentification import (
    MAX_COST,
    find_lost_person,
    follow_cost,
    return_cost,
)
from rankotom_edge.faces.scene_change import has_changed_outside, is_scene_cut, make_thumbnail
from rankotom_edge.faces.second_pass import (
    BLACK,
    GREY,
    HALVES,
    Detect,
    detect_close_up,
    detect_in_half,
    remove_duplicates,
)
from rankotom_edge.faces.track import HIDDEN, Track
from rankotom_edge.frame import Frame, Image

# Chosen by eye; `make crossings` prints how often people keep their numbers, `make bench` what the
# detections cost. In seconds:
SEARCH_EVERY = 0.5  # the whole picture, while every known face is in sight
SEARCH_SOON = 0.1  # while something moves elsewhere, or a face is lost
SEARCH_IDLE = 0.06  # while there is no face at all: every other frame of a camera
# Between searches for faces further away, by a detector that takes three times as long. It searches
# one half of the picture, then the other: in the whole picture it misses most of them.
SEARCH_FAR = 0.5
CHECK_EVERY = 0.15  # the second pass on each face; motion alone drifts by 0.5 % of its width
FOLLOW_UNFOUND = 0.6  # a face that is no longer detected: a hand passes, a head turns
# Before a newcomer gets a new number while somebody is lost: at first a person who returns may be
# half in the picture, or blurred, and not be recognized.
NEW_NUMBER_DELAY = 0.4
MAX_GAP = 0.5  # between two frames; across a longer one a face is not followed but detected again

MAX_CHECKS = 4  # second passes in one frame, so that a crowd costs each frame little more


@dataclass(frozen=True)
class TrackedFace:
    track: int
    face: Face
    detected: bool  # in this frame; otherwise followed from an earlier one


def needs_search(now: float, searched: float, tracks: Sequence[Track], moved: bool) -> bool:
    """Whether to search the whole picture; ``moved``: something did, away from the known faces."""
    if not tracks:
        return now - searched >= SEARCH_IDLE
    unsettled = moved or not all(track.placed for track in tracks)
    return now - searched >= (SEARCH_SOON if unsettled else SEARCH_EVERY)


def needs_check(track: Track, now: float, tracks: Sequence[Track]) -> bool:
    """Whether a face needs the second pass: it is new, or touches another, or is due."""
    if not track.placed:
        return now - track.searched_at >= SEARCH_SOON
    touched = any(overlap(track.face, other.face) > 0 for other in tracks if other is not track)
    return track.number is None or touched or now - track.searched_at >= CHECK_EVERY


class Tracker:
    """``detect`` finds faces in the frame and in close-ups of 192x192 pixels; ``far``, less often,
    finds those in one half of the frame that are too far away for it.

    With ``stills`` each frame stands alone: every face that is clear in the second pass is
    returned, under a new number.
    """

    def __init__(self, detect: Detect, *, far: Detect | None = None, stills: bool = False) -> None:
        self._detect = detect
        self._far = far
        self._stills = stills
        self._beyond = GREY if stills else BLACK
        self._tracks: tuple[Track, ...] = ()
        self._last: Frame | None = None
        self._searched = self._searched_far = -math.inf
        self._searched_thumbnail: Image = np.zeros((1, 1), dtype=np.uint8)
        self._unchecked: tuple[Face, ...] = ()  # found by a search, not yet by the second pass
        self._was_late = False  # the last frame came long after the one before
        self._far_half = 0  # of the picture, to search next for far faces
        self._last_number = 0

    def update(self, frame: Frame) -> tuple[TrackedFace, ...]:
        """The faces of the frame that have a number, in its order."""
        if self._stills:
            return self._read_still(frame)
        tracks = self._follow(frame)
        candidates = self._unchecked or self._search(frame, tracks)
        due = sorted(
            (track for track in tracks if needs_check(track, frame.time, tracks)),
            key=lambda track: track.searched_at,
        )
        # Known faces come first, in up to half of the checks; other candidates wait.
        room = MAX_CHECKS - min(len(due), MAX_CHECKS // 2)
        candidates, self._unchecked = candidates[:room], candidates[room:]
        checked = due[: MAX_CHECKS - len(candidates)]
        places = [*candidates, *(track.face for track in checked)]
        detections = self._second_pass(frame.image, places)
        # Frames that always come late leave no time to collect evidence; one late frame does.
        is_late = self._last is not None and frame.time - self._last.time > MAX_GAP
        is_slow_source, self._was_late = is_late and self._was_late, is_late
        self._tracks = self._match(frame, tracks, checked, detections, is_slow_source)
        self._last = frame
        return tuple(
            TrackedFace(track.number, track.face, detected=track.found_at == frame.time)
            for track in sorted(self._tracks, key=lambda track: track.number or 0)
            if track.number is not None and track.placed
        )

    def _read_still(self, frame: Frame) -> tuple[TrackedFace, ...]:
        found = self._second_pass(frame.image, self._detect_all(frame.image, HALVES))
        clear = [face for face in found if face.score >= CLEAR_SCORE_IN_PHOTO]
        return tuple(TrackedFace(self._next_number(), face, detected=True) for face in clear)

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def _follow(self, frame: Frame) -> tuple[Track, ...]:
        """The known faces where they have moved to since the last frame; none after a scene cut."""
        last = self._last
        if last is None or frame.time < last.time:
            return self._start_over()
        continuous = frame.time - last.time <= MAX_GAP and frame.image.shape == last.image.shape
        tracks = []
        for track in self._tracks:
            unseen = frame.time - track.found_at
            can_follow = continuous and track.placed and unseen <= FOLLOW_UNFOUND
            face = follow_face(last.grey, frame.grey, track.face) if can_follow else None
            if face is not None:
                velocity = track.average_velocity(face, frame.time - last.time)
                tracks.append(replace(track, face=face, velocity=velocity))
            elif unseen <= track.memory:
                tracks.append(track.lose_sight(self._tracks) if track.placed else track)
        # Where every face could be followed it is the same scene: no motion survives a cut.
        all_followed = tracks and all(track.placed for track in tracks)
        if not all_followed and is_scene_cut(make_thumbnail(last.grey), make_thumbnail(frame.grey)):
            return self._start_over()
        return tuple(tracks)

    def _start_over(self) -> tuple[Track, ...]:
        self._searched = self._searched_far = -math.inf
        self._unchecked = ()
        return ()

    def _search(self, frame: Frame, tracks: tuple[Track, ...]) -> tuple[Face, ...]:
        """The faces in the whole picture except the known ones, if a search is due."""
        if tracks and frame.time - self._searched < SEARCH_SOON:
            return ()
        thumbnail = make_thumbnail(frame.grey)
        placed = [track.face for track in tracks if track.placed]
        moved = self._searched_thumbnail.shape == thumbnail.shape and has_changed_outside(
            self._searched_thumbnail, thumbnail, placed, frame.image.shape
        )
        far = self._far is not None and frame.time - self._searched_far >= SEARCH_FAR
        if not (far or needs_search(frame.time, self._searched, tracks, moved)):
            return ()
        self._searched, self._searched_thumbnail = frame.time, thumbnail
        halves: tuple[int, ...] = ()
        if far:
            self._searched_far = frame.time
            halves, self._far_half = (self._far_half,), 1 - self._far_half
        return tuple(
            face
            for face in self._detect_all(frame.image, halves)
            if not any(overlap(face, known) > HIDDEN for known in placed)
        )

    def _detect_all(self, image: Image, halves: Sequence[int]) -> tuple[Face, ...]:
        """Near faces in the whole picture, far ones in these halves of it."""
        near = self._detect(image)
        if self._far is None or not halves:
            return near
        far = [face for half in halves for face in detect_in_half(self._far, image, half)]
        return remove_duplicates([*near, *far])

    def _second_pass(self, image: Image, places: Iterable[Face]) -> tuple[Face, ...]:
        return remove_duplicates(
            [
                face
                for place in places
                for face in detect_close_up(self._detect, image, place, self._beyond)
            ]
        )

    def _match(
        self,
        frame: Frame,
        tracks: tuple[Track, ...],
        checked: Sequence[Track],
        detections: tuple[Face, ...],
        is_slow_source: bool,
    ) -> tuple[Track, ...]:
        """The tracks after the second pass: who was found, who was missed, who is new."""
        now = frame.time
        if not checked and not detections:
            return tracks
        appearances = [measure_appearance(frame.image, face) for face in detections]
        costs = np.full((len(tracks), len(detections)), math.inf)
        for row, track in enumerate(tracks):
            alone = track.is_alone(tracks)
            for column, (face, seen) in enumerate(zip(detections, appearances, strict=True)):
                costs[row, column] = min(
                    follow_cost(track, face, seen, alone), return_cost(track, face, seen, now)
                )
        found = dict(assign(costs, MAX_COST))
        newcomers = [
            Track(None, face, seen, 0.0, now, now, placed=True, found=face, since=now)
            for column, (face, seen) in enumerate(zip(detections, appearances, strict=True))
            if column not in found.values() and add_evidence(0, face.score) > 0
        ]
        updated = [one.mark_found(one.face, one.appearance, now) for one in newcomers]
        for row, track in enumerate(tracks):
            if row in found:
                face, seen = detections[found[row]], appearances[found[row]]
                known = seen if track.is_alone(tracks, face) else track.appearance
                updated.append(track.mark_found(face, known, now))
            elif any(track is one for one in checked):
                others = [detections[column] for column in found.values()]
                missed = track.mark_missed(others, now)
                updated += [missed] if missed is not None else []
            else:
                updated.append(track)
        if is_slow_source:
            updated = [track.accept_if_clear() for track in updated]
        return self._give_numbers(updated, now)

    def _give_numbers(self, tracks: Sequence[Track], now: float) -> tuple[Track, ...]:
        """Each accepted face gets the number of a person lost just before, or a new one."""
        lost = [track for track in tracks if track.number is not None and track.lost]
        kept = [
            track
            for track in tracks
            if track.number is not None or track.evidence < ENOUGH_EVIDENCE
        ]
        for track in tracks:
            if track.number is None and track.evidence >= ENOUGH_EVIDENCE:
                before = find_lost_person(track, lost, now)
                if before is None and 0 < now - track.since < NEW_NUMBER_DELAY and lost:
                    kept.append(track)
                elif before is None:
                    kept.append(replace(track, number=self._next_number()))
                else:
                    kept.append(replace(track, number=before.number, appearance=before.appearance))
                    lost = [one for one in lost if one is not before]
                    kept = [one for one in kept if one is not before]
        return tuple(kept)
