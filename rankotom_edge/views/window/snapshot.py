"""Saves what the window shows, or would show, as a picture."""

from datetime import datetime
from pathlib import Path

import cv2

from calib.errors import RankotomError
from calib.files import replace_file
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.views.display import Display
from rankotom_edge.views.window.overlay import Overlay


def save_snapshot(folder: Path, model: MeasuredModel, display: Display) -> Path:
    """Only the user may read the file: it shows faces."""
    picture = Overlay(model).draw(display)
    path = folder / f"snapshot-{datetime.now():%Y-%m-%dT%H-%M-%S-%f}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replace_file(path, mode=0o600) as temporary:
            temporary.write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    except OSError as error:
        raise RankotomError(f"Cannot save {path}: {error.strerror}.") from error
    return path
