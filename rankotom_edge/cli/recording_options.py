"""``camera``: where it records, what, and for how long the sessions are kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.option_groups import OUTPUT_FOLDER
from rankotom_edge.cli.view_options import OUTPUT

if TYPE_CHECKING:
    from rankotom_edge.recording.retention import Retention

SESSIONS = "sessions"  # the r key records to this folder, unless --record names another


@dataclass(frozen=True)
class RecordingOptions:
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=(
                "Record a session: the readings, without pictures. The r key records to the same "
                "folder."
            ),
            rich_help_panel=OUTPUT,
        ),
        OUTPUT_FOLDER,
    ] = None
    record_video: Annotated[
        bool,
        typer.Option("--record-video", help="Record the pictures too.", rich_help_panel=OUTPUT),
    ] = False
    keep_days: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=36_500,
            metavar="N",
            help="Remove sessions that are older than so many days from the folder, oldest first.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    keep_gb: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=1e6,
            metavar="N",
            help="Keep at most so many gigabytes of sessions in the folder: remove the oldest.",
            rich_help_panel=OUTPUT,
        ),
    ] = None

    def check(self) -> None:
        if self.record_video and self.record is None:
            raise typer.BadParameter("--record-video needs --record DIR, the folder to record to")

    @property
    def folder(self) -> Path:
        return self.record or Path(SESSIONS)

    def retention(self) -> "Retention":
        from rankotom_edge.recording.retention import Retention

        return Retention(self.folder, self.keep_days, self.keep_gb)
