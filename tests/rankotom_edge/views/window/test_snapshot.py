"""A snapshot is what the window shows, for its owner's eyes only."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.views.window.snapshot import save_snapshot


def test_it_is_the_windows_picture_and_only_the_owner_may_read_it(
    window: Any, tmp_path: Path
) -> None:
    latest = window.frame_readings(window.HAPPY)
    path = save_snapshot(tmp_path / "new folder", window.MODEL, window.playing(latest))
    assert path.name.startswith("snapshot-")
    assert path.stat().st_mode & 0o777 == 0o600
    assert np.array_equal(cv2.imread(str(path)), window.drawn(latest))


def test_a_folder_that_cannot_be_made_is_named(window: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    display = window.playing(window.frame_readings())
    with pytest.raises(RankotomError, match=r"Cannot save .*file/folder"):
        save_snapshot(tmp_path / "file" / "folder", window.MODEL, display)
