"""Collects faces to label: from a session, from photographs, or from any source as it plays."""

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from calib.errors import RankotomError
from rankotom_edge.face_sets.face_split import count_words, with_progress
from rankotom_edge.face_sets.photos import PhotoDetector, find_photos, folders_are_people
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.labelling.episodes import Episodes
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.pictures import read_picture
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.session import Session

PICTURE = 192  # pixels of the picture for the person, each way; chosen by eye
KEY_DIGITS = 16
# Seconds of a track that are one moment: longer than an expression lasts; chosen by eye.
MOMENT = 20.0


class Collector:
    """A sink of the live loop: keeps one moment of each expression episode of each track.

    ``run`` names the recording or the run: its tracks are groups of their own.
    """

    def __init__(self, classifier: Classifier, run: str) -> None:
        self._classifier, self._run = classifier, run
        self._episodes = Episodes()

    def write(self, latest: FrameReadings) -> None:
        """Without the faces that no confidence counts for: they are always unsure."""
        image = latest.frame.image
        for reading in latest.readings:
            if reading.unreadable is None:
                start = latest.frame.time // MOMENT * MOMENT
                group = f"{self._run}/track {reading.track}/{start:.0f} s"
                cut = partial(cut_face, image, reading.face, group, self._classifier)
                self._episodes.add(reading.track, latest.frame.time, reading.top, cut)

    @property
    def full(self) -> bool:
        return self._episodes.full

    def count(self) -> tuple[int, int]:
        """Episodes that are over, and the tracks that they are of."""
        return self._episodes.count()

    def faces(self) -> list[FaceToLabel]:
        return self._episodes.faces()


def cut_face(image: Image, face: Face, group: str, classifier: Classifier) -> FaceToLabel:
    card = classifier.artifact.card
    contract = card.crop
    seen = crop(image, face, contract.framing, contract.size, contract.channels)
    logits = classifier.classify(seen[np.newaxis]).logits[0].astype(np.float64) / card.temperature
    shown = crop(image, face, contract.framing, PICTURE, 3)
    return FaceToLabel(
        key=hashlib.sha256(seen.tobytes()).hexdigest()[:KEY_DIGITS],
        group=group,
        picture=np.ascontiguousarray(shown[::-1].transpose(1, 2, 0)),  # planes of RGB to BGR
        logits=logits,
    )


def faces_of_session(session: Session, classifier: Classifier) -> list[FaceToLabel]:
    """The tracks and expressions are as they were recorded; the confidence is this model's."""
    if not session.has_video:
        raise RankotomError(
            f"The session {session.folder} has no video, so there are no faces to label. "
            "Record one with: rankotom-edge camera --record DIR --record-video"
        )
    collector = Collector(classifier, session.folder.resolve().name)
    frames: Iterable[FrameReadings] = session.frames()
    total = session.metadata.get("frames")
    if isinstance(total, int):  # of a complete session
        frames = with_progress(frames, total, "finding faces")
    for latest in frames:
        collector.write(latest)
    return collector.faces()


def faces_of_photos(folder: Path, classifier: Classifier) -> list[FaceToLabel]:
    """Each photograph is a group of its own, in its person's where folders are people."""
    photos = find_photos(folder)
    by_person = folders_are_people(photo.relative_to(folder) for photo in photos)
    faces: dict[str, FaceToLabel] = {}
    unreadable = 0
    with PhotoDetector() as detector:
        for path in with_progress(photos, len(photos), "finding faces"):
            try:
                photo = read_picture(path)
            except RankotomError:
                unreadable += 1
                continue
            group = path.relative_to(folder).as_posix()
            group = group if by_person else group.replace("/", " ")
            for found in detector.detect(photo):
                face = cut_face(photo, found, group, classifier)
                faces.setdefault(face.key, face)
    if not faces:
        broken = f", of which {unreadable:,} cannot be read" if unreadable else ""
        raise RankotomError(
            f"There is no face in {folder}: {count_words(len(photos), 'photo')}{broken}. Give a "
            "folder of photos of faces, or a session: rankotom-edge camera --record DIR "
            "--record-video"
        )
    return list(faces.values())
