"""``rankotom-edge analyze``: many videos into tables, and a summary over all."""

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rankotom_edge.cli.camera import ModelOptions
from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.output import JsonTarget, check_outputs, show, write_json
from rankotom_edge.cli.view_options import exit_statuses

if TYPE_CHECKING:  # every help page imports this module
    from rankotom_edge.analyze.run import Work

SCHEDULER = "DASK_SCHEDULER_ADDRESS"
WORK = "Who does the work"
INCOMPLETE = 1


@dataclass(frozen=True)
class WorkOptions:
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=(
                "Processes on this machine. Each uses one core. "
                r"[dim]\[default: one for each core][/]"
            ),
            show_default=False,
            rich_help_panel=WORK,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=(
                "A Dask scheduler, as tcp://host:8786, whose workers have the videos under the "
                rf"same paths. [dim]\[default: ${SCHEDULER}, unless --workers is given][/]"
            ),
            show_default=False,
            rich_help_panel=WORK,
        ),
    ] = None

    def choose(self) -> "Work":
        if self.workers is not None and self.cluster is not None:
            raise typer.BadParameter("give --workers or --cluster, not both")
        address = self.cluster
        if address is None and self.workers is None:
            address = os.environ.get(SCHEDULER)
        if address is not None:
            with extra("cluster"):
                from rankotom_edge.analyze.cluster import read_on_cluster

            return partial(read_on_cluster, address=address)
        from rankotom_edge.analyze.local_workers import read_locally
        from rankotom_edge.bench.model_comparison import usable_cores

        return partial(read_locally, workers=self.workers or usable_cores())


def analyze(
    *,
    videos: Annotated[
        list[str], typer.Argument(metavar="VIDEOS", help="Videos, folders and globs of them.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="The folder of the results. With the same again, finished videos are kept.",
        ),
    ] = Path("analysis"),
    fps: Annotated[
        float | None,
        typer.Option(
            min=0.01, metavar="N", help="Read so many frames a second of each video, not all."
        ),
    ] = None,
    format: Annotated[
        Literal["parquet", "csv"],
        typer.Option("--format", metavar="NAME", help="parquet, or csv, which needs no pyarrow."),
    ] = "parquet",
    json: JsonTarget = None,
    work: WorkOptions,
    reading: ModelOptions,
) -> None:
    """Read many videos into a table each, and sum up what they show.
    [dim]rankotom-edge analyze archive 'more/*.mp4' --fps 5[/]

    A row for each face of each frame: time, box, probabilities, verdict and
    reason. The summary says how long each expression was seen, with an interval
    over independent episodes, how much was unsure and why, and whether the
    confidence is as it was measured. Stopped, the same command goes on where it
    was. A video that cannot be read is named at the end.
    """
    check_outputs(json)
    budget = reading.error_budget()
    if format == "parquet":
        with extra("analyze"):
            import pyarrow.parquet  # noqa: F401
    do_work = work.choose()

    from rankotom_edge.analyze.progress import ProgressBar
    from rankotom_edge.analyze.read_video import Settings
    from rankotom_edge.analyze.report import analysis_report
    from rankotom_edge.analyze.results import TABLES, Results
    from rankotom_edge.analyze.run import analyze as analyze_videos
    from rankotom_edge.analyze.videos import find_videos
    from rankotom_edge.model.artifact import load_artifact

    artifact = load_artifact(reading.model)
    budget.confidence_needed(artifact.card.evaluation)  # refused before any video is read
    found = find_videos(videos)
    settings = Settings(
        model=artifact.path.stem if artifact.embedded else str(artifact.path.resolve()),
        sha256=artifact.sha256,
        fps=fps,
        max_error=budget.overall,
        max_error_each=budget.each,
        reach=reading.reach,
        provider=reading.provider,
        format=format,
    )
    results = Results(output, settings)
    with exit_statuses():
        try:
            with ProgressBar() as bar:
                summary = analyze_videos(found, settings, results, do_work, artifact.card, bar)
        except KeyboardInterrupt:
            done = sum(results.find(video) is not None for video in found)
            print(
                f"note: {done:,} of {len(found):,} videos are done; the same command goes on",
                file=sys.stderr,
            )
            raise
    document = summary.as_json() | {"model": artifact.summary(), "fps": fps}
    results.write_summary(document)
    show(analysis_report(summary, output / TABLES), json)
    if json is not None:
        write_json(json, document)
    if summary.failed:
        raise typer.Exit(INCOMPLETE)
