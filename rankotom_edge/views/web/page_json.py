"""The JSON for the web page: everything it shows, in the words of the other views."""

import base64
from dataclasses import asdict

import numpy as np

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.controls import KEYS
from rankotom_edge.views.display import Status
from rankotom_edge.views.palette import emotion_hex
from rankotom_edge.views.presenter import (
    STILL,
    Message,
    drift_words,
    dropped_words,
    frame_rate,
    is_stale,
    model_words,
    picture_message,
    shown_readings,
    source_words,
)
from rankotom_edge.views.web.health import stall_words
from rankotom_edge.views.web.relay import Update
from rankotom_edge.views.web.timeline import SECONDS
from rankotom_edge.views.wording import MARK_MEANING, headline, named_emotions, percent

# Handled in the browser, so that one person's help does not open on every screen.
PAGE_KEYS = ("m", "h")
# Without pictures there is no evidence, no crop and no snapshot to show.
PICTURE_KEYS = ("c", "v", "s")


def page_keys(video: bool, viewer: bool = False) -> dict[str, str]:
    """The keys that the page offers; a viewer's do nothing outside the browser."""
    if viewer:
        return {key: KEYS[key] for key in PAGE_KEYS}
    return {key: words for key, words in KEYS.items() if video or key not in PICTURE_KEYS}


def hello_json(model: MeasuredModel, video: bool, viewer: bool = False) -> dict[str, object]:
    """Sent once: what stays the same while the program runs."""
    labels, evaluation = model.labels, model.evaluation
    return {
        "labels": list(labels),
        "colours": [emotion_hex(labels, index) for index in range(len(labels))],
        "keys": page_keys(video, viewer) | ({} if viewer else {"q": "end the program"}),
        "own_keys": list(PAGE_KEYS),
        "marker": MARK_MEANING,
        "bins": [vars(bin_) for bin_ in evaluation.reliability if bin_.count],
        "ece": evaluation.metrics["ece"].value,
        "faces": evaluation.n,
        "seconds": SECONDS,
        "video": video,
    }


def now_json(
    update: Update | None, reliability: Reliability, video: bool, now: float
) -> dict[str, object]:
    """Sent for every update: the faces, the message and the status."""
    if update is None:
        return {"message": {"words": "starting", "attention": False}}
    display, latest = update.display, update.display.latest
    crops = video and display.controls.crop
    stalled = stall_words(update, now)
    message = picture_message(display) if stalled is None else Message(stalled, attention=True)
    return {
        "faces": [_face(reading, reliability, crops) for reading in shown_readings(display)],
        "message": None if message is None else asdict(message),
        "size": None if latest is None else list(latest.frame.image.shape[1::-1]),
        "status": _status(display.status, is_stale(display)),
        "controls": asdict(display.controls),
    }


def _face(reading: Reading, reliability: Reliability, crops: bool) -> dict[str, object]:
    words = headline(reading, reliability)
    face: dict[str, object] = {
        "track": reading.track,
        "title": words.title,
        "number": words.number,
        "detail": words.detail,
        "verdict": reading.verdict,
        "named": [reading.labels.index(name) for name in named_emotions(reading)],
        "top": int(reading.probabilities.argmax()),
        "shares": np.round(reading.probabilities, 4).tolist(),
        "percents": [percent(float(share)) for share in reading.probabilities],
        "right": [
            bar_reliability(reading, index, reliability) for index in range(len(reading.labels))
        ],
    }
    if crops and reading.crop is not None:
        face["crop"] = {
            "size": reading.crop.shape[-1],
            "channels": len(reading.crop),
            "pixels": base64.b64encode(reading.crop.tobytes()).decode(),
        }
    return face


def _expiry(status: Status) -> dict[str, str]:
    """The words of a drift end with that of the user's own calibration."""
    words = drift_words(status)
    return {} if words is None else {"words": words}


def _status(status: Status, lost: bool) -> dict[str, object]:
    source = source_words(status)
    fps, latency = frame_rate(status)
    return {
        "source": None if lost else source.words,  # the message says it
        "fps": fps,
        "latency": latency,
        "dropped": dropped_words(status),
        "model": model_words(status),
        "recording": status.recording,
        "still": STILL if status.still else None,
        "notice": status.notice,
        "drift": None if status.drift is None else status.drift.as_json() | _expiry(status),
    }
