"""The folder of results: a table and a record for each video, the settings, and the summary.

A record is written after its table, and both replace a file as a whole: a video has both, or is
read again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from calib.errors import RankotomError
from calib.files import replace_file
from calib.input_files import MEGABYTE, read_input
from calib.json_fields import as_mapping, load_json, text_or_none
from rankotom_edge import __version__
from rankotom_edge.analyze.read_video import Analysis, Settings
from rankotom_edge.analyze.statistics import Statistics
from rankotom_edge.analyze.videos import Video
from rankotom_edge.model.card import UNREADABLE

FORMAT = 1
TABLES, RECORDS, SETTINGS, SUMMARY = "tables", "records", "settings.json", "summary.json"
NAMES = {"sha256": "model", "version": "version of rankotom-edge"}  # of settings, for a person
MOST_BYTES = 16 * MEGABYTE  # of a record
PRIVATE_FOLDER = 0o700  # as sessions: readings of faces are personal data


class Results:
    def __init__(self, folder: Path, settings: Settings) -> None:
        """A folder with other settings is refused: its tables could not be compared."""
        self.folder, self._suffix = folder, settings.format
        wanted = {"format": FORMAT, "version": __version__, **asdict(settings)}
        # An embedded model answers to a name, a file may have been moved: its content counts.
        path = folder / SETTINGS
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            found = _read(path) if path.exists() else None
        except OSError as error:
            raise RankotomError(f"Cannot write to {folder}: {error.strerror}.") from error
        if found is None:
            _write(path, wanted)
            return
        differ = [name for name in wanted if name != "model" and found.get(name) != wanted[name]]
        if differ:
            named = " and ".join(NAMES.get(name, name.replace("_", "-")) for name in differ)
            raise RankotomError(
                f"{folder} has results with another {named}. Give the same again "
                "to go on with them, or another folder with --output."
            )

    def find(self, video: Video) -> tuple[Statistics, str | None] | None:
        """None if the video was not read yet, or is another one by now."""
        path = self._record(video)
        if not path.exists() or not self.table(video).exists():
            return None
        try:
            saved = _read(path)
            if (saved["size"], saved["modified"]) != (video.size, video.modified):
                return None
            statistics = Statistics.from_json(as_mapping(saved["statistics"]))
            return statistics, text_or_none(saved, "problem")
        except (*UNREADABLE, RankotomError):  # it was changed or damaged
            return None

    def add(self, video: Video, analysis: Analysis) -> None:
        table, record = self.table(video), self._record(video)
        for path in (table, record):
            os.makedirs(path.parent, exist_ok=True)
        with replace_file(table) as temporary:
            temporary.write_bytes(analysis.table)
        _write(
            record,
            asdict(video)
            | {"problem": analysis.problem, "statistics": analysis.statistics.as_json()},
        )

    def write_summary(self, document: Mapping[str, object]) -> None:
        _write(self.folder / SUMMARY, document)

    def table(self, video: Video) -> Path:
        """pandas, Dask and Spark skip what begins with a dot or an underscore, as _MG_0001.MOV."""
        shown = re.sub(r"(^|/)(?=[._])", r"\1-", video.name)
        return self.folder / TABLES / f"{shown}.{self._suffix}"

    def _record(self, video: Video) -> Path:
        return self.folder / RECORDS / f"{video.name}.json"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return as_mapping(load_json(read_input(path, MOST_BYTES)))
    except ValueError as error:
        raise RankotomError(
            f"{path} is not as rankotom-edge writes it ({error!s:.200}). Remove it, or give "
            "another folder with --output."
        ) from error


def _write(path: Path, document: Mapping[str, object]) -> None:
    with replace_file(path) as temporary:
        text = json.dumps(document, indent=1, allow_nan=False, sort_keys=True)
        temporary.write_text(f"{text}\n", encoding="utf-8")
