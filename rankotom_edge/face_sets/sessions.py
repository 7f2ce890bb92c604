"""The faces of a recorded session."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from calib.errors import RankotomError
from rankotom_edge.face_sets.face_split import (
    FaceSplit,
    SplitSizes,
    count_words,
    cut_face,
    is_large_enough,
    spread_evenly,
    with_progress,
)
from rankotom_edge.frame import Image
from rankotom_edge.model.card import CropContract
from rankotom_edge.recording.session import Session

# Seconds, chosen by eye.
INTERVAL = 0.5  # between two faces of a track
GAP = 5.0  # between the two parts: an expression lasts a few seconds


class Sighting(NamedTuple):
    """A face of a session: the frame, the position among its readings, the time in seconds."""

    frame: int
    position: int
    time: float


def faces_of_session(session: Session, contract: CropContract, sizes: SplitSizes) -> FaceSplit:
    if not session.has_video:
        raise RankotomError(
            f"The session {session.folder} has no video to take faces from. "
            "Record one with: rankotom-edge camera --record DIR --record-video"
        )
    sightings = sample_sightings(session)
    parts = split_by_time(sightings)
    first, second = (
        sorted(spread_evenly(part)[:limit])
        for part, limit in zip(parts, (sizes.max_calibration, sizes.max_held_out), strict=True)
    )
    crops = _cut_from_video(session, [*first, *second], contract)
    calibration, held_out = (
        [crops[face] for face in part if face in crops] for part in (first, second)
    )
    if min(len(calibration), len(held_out)) < sizes.minimum:
        raise RankotomError(
            f"Found {count_words(len(sightings), 'face')} in the session {session.folder}, two a "
            f"second of each person: {len(calibration)} to calibrate on and, {GAP:.0f} s later, "
            f"{len(held_out)} to judge by, and {sizes.minimum} of each are needed. Record for two "
            "minutes or more: rankotom-edge camera --record DIR --record-video --seconds 120"
        )
    found, wanted = sum(map(len, parts)), len(first) + len(second)
    note = "; ".join(_remarks(session, found, wanted, len(crops)))
    name = session.folder.resolve().name
    return FaceSplit(name, np.stack(calibration), np.stack(held_out), note)


def sample_sightings(session: Session) -> list[Sighting]:
    """At most two a second of each track: frames closer in time are nearly the same picture."""
    sightings: list[Sighting] = []
    last: dict[int, float] = {}
    # Without the video, of which only a few frames will be decoded.
    for number, latest in enumerate(replace(session, has_video=False).frames()):
        time = latest.frame.time
        for position, reading in enumerate(latest.readings):
            # The score is 0 while a track is followed but not detected: the face may be gone.
            usable = reading.face.score > 0 and is_large_enough(reading.face)
            if usable and time - last.get(reading.track, -math.inf) >= INTERVAL:
                last[reading.track] = time
                sightings.append(Sighting(number, position, time))
    return sightings


def split_by_time(sightings: Sequence[Sighting]) -> tuple[list[Sighting], list[Sighting]]:
    """The first and the second half of the faces, without those in the gap between them."""
    if not sightings:
        return [], []
    middle = sightings[len(sightings) // 2].time
    before = [face for face in sightings if face.time < middle - GAP / 2]
    after = [face for face in sightings if face.time >= middle + GAP / 2]
    return before, after


def _cut_from_video(
    session: Session, sightings: Sequence[Sighting], contract: CropContract
) -> Mapping[Sighting, Image]:
    """Those in the video, which may end before the readings do."""
    by_frame: dict[int, list[Sighting]] = {}
    for face in sightings:
        by_frame.setdefault(face.frame, []).append(face)
    count = max(by_frame, default=-1) + 1
    frames = with_progress(islice(session.frames(), count), count, "cutting faces from video")
    return {
        face: cut_face(read.frame.image, read.readings[face.position].face, contract)
        for number, read in enumerate(frames)
        for face in by_frame.get(number, ())
    }


def _remarks(session: Session, found: int, wanted: int, cut: int) -> Iterator[str]:
    if session.metadata.get("still"):
        yield "this is the portrait of the demo, the same face again and again"
    else:
        yield "frames of one video are alike, so these faces tell less than as many photos would"
    if wanted < found:
        yield f"{wanted:,} of {found:,} faces, evenly spread, are enough"
    if cut < wanted:
        yield f"the video ends before {count_words(wanted - cut, 'face')}"
