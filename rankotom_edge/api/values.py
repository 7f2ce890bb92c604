"""What the API gives: one face, one frame, and many frames as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rankotom_edge.frame import Image
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import POINTS, Reading, Verdict

# The columns of a table and the type of their values, before those of the probabilities. Text may
# be None.
COLUMNS: dict[str, type] = {
    "frame": int,
    "time": float,
    "track": int,
    "x": float,
    "y": float,
    "width": float,
    "height": float,
    "top": str,
    "confidence": float,
    "blend": str,
    "blend_name": str,
    "verdict": str,
    "reason": str,
    "prediction_set": str,
    "quality": float,
}
PROBABILITY = "probability:"  # and the label, as in predictions files
SEPARATOR = ", "  # of the expressions of a blend or a set


@dataclass(frozen=True)
class FaceReading:
    """One face of one frame. The names are those of ``--json`` (docs/schema.md)."""

    track: int  # the face's number, which it keeps from frame to frame
    box: tuple[float, float, float, float]  # x, y, width, height in pixels; may leave the picture
    points: dict[str, tuple[float, float]]  # left_eye, right_eye, nose, mouth, from the viewer
    probabilities: dict[str, float]  # calibrated, smoothed over time
    raw: dict[str, float]  # calibrated, of this frame alone
    top: str  # the likeliest expression
    confidence: float  # its probability
    blend: tuple[str, str] | None  # two expressions in one face, the larger first
    blend_name: str | None  # "happily surprised"
    verdict: Verdict  # "sure" or "unsure"
    reason: str | None  # why it is unsure
    unreadable: str | None  # why it is unsure however confident the model is
    prediction_set: tuple[str, ...]  # one of these is right with ``set_coverage``; may be empty
    set_coverage: float | None  # None where the model has no prediction sets
    quality: float  # 0 to 1

    @classmethod
    def of(cls, reading: Reading) -> FaceReading:
        face, blend, rule = reading.face, reading.blend, reading.set_rule
        return cls(
            track=reading.track,
            box=face.box,
            points={name: getattr(face, name) for name in POINTS},
            probabilities=dict(zip(reading.labels, reading.probabilities.tolist(), strict=True)),
            raw=dict(zip(reading.labels, reading.raw.tolist(), strict=True)),
            top=reading.top,
            confidence=reading.confidence,
            blend=None if blend is None else (blend.first, blend.second),
            blend_name=None if blend is None else blend.name,
            verdict=reading.verdict,
            reason=reading.reason,
            unreadable=reading.unreadable,
            prediction_set=reading.expressions,
            set_coverage=None if rule is None else rule.coverage,
            quality=reading.quality.score,
        )


@dataclass(frozen=True)
class FrameReading:
    frame: int  # its number in the source, from 0
    time: float  # seconds since the first frame
    faces: tuple[FaceReading, ...]
    image: Image = field(repr=False, compare=False)  # BGR, (height, width, 3)

    @classmethod
    def of(cls, latest: FrameReadings) -> FrameReading:
        frame = latest.frame
        faces = tuple(FaceReading.of(reading) for reading in latest.readings)
        return cls(frame.index, frame.time, faces, frame.image)


def table(frames: Iterable[FrameReading], labels: Iterable[str] = ()) -> dict[str, list[object]]:
    """A row for each face, as columns that ``pandas.DataFrame`` takes. ``labels``: of the
    probabilities, so that a table without a face has their columns too."""
    columns: dict[str, list[object]] = {name: [] for name in column_types(labels)}
    for frame in frames:
        for face in frame.faces:
            for name, value in row(frame, face).items():
                columns.setdefault(name, []).append(value)
    return columns


def column_types(labels: Iterable[str]) -> dict[str, type]:
    return COLUMNS | {f"{PROBABILITY}{label}": float for label in labels}


def row(frame: FrameReading, face: FaceReading) -> dict[str, object]:
    """Rounded as in the JSON."""
    x, y, width, height = (round(number, 1) for number in face.box)
    return {
        "frame": frame.frame,
        "time": round(frame.time, 4),
        "track": face.track,
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "top": face.top,
        "confidence": round(face.confidence, 5),
        "blend": None if face.blend is None else SEPARATOR.join(face.blend),
        "blend_name": face.blend_name,
        "verdict": face.verdict,
        "reason": face.reason,
        "prediction_set": SEPARATOR.join(face.prediction_set) or None,
        "quality": round(face.quality, 3),
        **{f"{PROBABILITY}{label}": round(share, 5) for label, share in face.probabilities.items()},
    }
