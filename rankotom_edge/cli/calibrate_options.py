"""The options of ``calibrate``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from rankotom_edge.cli.option_groups import OUTPUT_FOLDER

FROM, ASKING, KEPT = "Which faces", "Labelling", "What is kept"


@dataclass(frozen=True)
class FaceOptions:
    device: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help=r"Gather faces from this camera. [dim]\[default: 0][/]",
            rich_help_panel=FROM,
        ),
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Gather faces from any source that [bold]camera[/] takes.",
            rich_help_panel=FROM,
        ),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(min=1, metavar="N", help="Gather for N seconds.", rich_help_panel=FROM),
    ] = None
    of: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="SOURCE",
            help=(
                "The camera or stream that photos are of, named as for [bold]camera[/]: 0, "
                "rtsp://…. The calibration is used for this source alone, known by the name that "
                "the views show."
            ),
            rich_help_panel=FROM,
        ),
    ] = None
    faces: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="How many faces to label, spread over the range of confidence.",
            rich_help_panel=FROM,
        ),
    ] = 100

    def live_source(self, folder: Path | None) -> str | None:
        """The name of the source to gather from, by default the first camera; None: the faces are
        in ``folder``."""
        given = [each for each in (folder, self.device, self.source) if each is not None]
        if len(given) > 1:
            raise typer.BadParameter("give FACES, --device or --source; only one of them")
        if folder is None:
            return self.source if self.source is not None else str(self.device or 0)
        if self.seconds is not None:
            raise typer.BadParameter("--seconds is for --device and --source")
        return None


@dataclass(frozen=True)
class AskingOptions:
    rater: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=(
                r"Who labels. A second person labels the same session, photos or kept faces. "
                r"[dim]\[default: your user name][/]"
            ),
            rich_help_panel=ASKING,
        ),
    ] = None
    view: Annotated[
        Literal["auto", "terminal", "web", "none"],
        typer.Option(
            metavar="NAME",
            help=(
                "Where to label: terminal, web, or none (only with the labels that there are). "
                "[bold]auto[/] is the terminal."
            ),
            rich_help_panel=ASKING,
        ),
    ] = "auto"


@dataclass(frozen=True)
class KeepingOptions:
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what the labels so far would change; ask nothing, write nothing.",
            rich_help_panel=KEPT,
        ),
    ] = False
    keep_faces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=(
                "Keep the pictures of the chosen faces in this new folder, for a second person. "
                "Otherwise none is stored."
            ),
            rich_help_panel=KEPT,
        ),
        OUTPUT_FOLDER,
    ] = None
    list_all: Annotated[
        bool, typer.Option("--list", help="List the calibrations here.", rich_help_panel=KEPT)
    ] = False
    forget: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Remove the calibration of this source and --model; the labels stay.",
            rich_help_panel=KEPT,
        ),
    ] = None
