"""``rankotom-edge camera``: the live loop on a camera, a file, a stream or the demo."""

import math
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calib.errors import RankotomError
from rankotom_edge.cli import option_groups
from rankotom_edge.cli.output import check_outputs
from rankotom_edge.cli.recording_options import RecordingOptions
from rankotom_edge.cli.share import parse_share
from rankotom_edge.cli.stream_options import StreamOptions
from rankotom_edge.cli.view_options import (
    OUTPUT,
    FastOption,
    ViewOptions,
    exit_statuses,
    open_view,
    print_summary,
)
from rankotom_edge.cli.web_options import WebOptions, prometheus_metrics
from rankotom_edge.interrupts import delay_interrupts
from rankotom_edge.model import embedded

if TYPE_CHECKING:  # every help page imports this module
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.own_calibration import SavedCalibration
    from rankotom_edge.publish.stream import Stream
    from rankotom_edge.readings.drift_monitor import DriftStatus
    from rankotom_edge.readings.error_budget import ErrorBudget

MODEL = "How faces are read"


@dataclass(frozen=True)
class SourceOptions:
    device: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help=r"The camera's number. [dim]\[default: 0][/]"),
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help=(
                "Instead of --device: [bold]/dev/video0[/], csi://0, a video, GIF, folder or glob "
                "of images, rtsp://…, http://…, udp://…, a GStreamer pipeline, or [bold]demo[/]."
            ),
        ),
    ] = None
    list_devices: Annotated[bool, typer.Option("--list-devices", help="List the cameras.")] = False
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="N", help="End after N seconds.")
    ] = None
    frames: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after N frames.")] = (
        None
    )
    fast: FastOption = False
    max_pause: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=3600,
            metavar="SECONDS",
            help="The longest pause before a lost camera or stream is opened again.",
        ),
    ] = 10.0

    def check(self) -> None:
        if self.device is not None and self.source is not None:
            raise typer.BadParameter("give --device or --source, not both")
        if self.seconds is not None and not math.isfinite(self.seconds):
            raise typer.BadParameter("--seconds takes a number of seconds")

    @property
    def name(self) -> str:
        return self.source if self.source is not None else str(self.device or 0)


@dataclass(frozen=True)
class OutputOptions:
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write one JSON object a line for every frame; [bold]-[/] is standard output.",
            rich_help_panel=OUTPUT,
        ),
        option_groups.OUTPUT,
    ] = None
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="At the end, draw a summary of the run as a picture.",
            rich_help_panel=OUTPUT,
        ),
        option_groups.OUTPUT,
    ] = None
    summary_faces: Annotated[
        bool,
        typer.Option(
            "--summary-faces",
            help="Show in it the face of each expression's surest moment.",
            rich_help_panel=OUTPUT,
        ),
    ] = False

    def check(self) -> None:
        if self.summary_faces and self.summary is None:
            raise typer.BadParameter("--summary-faces needs --summary FILE.png")
        check_outputs(self.json, others=[self.summary])


@dataclass(frozen=True)
class ModelOptions:
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="An embedded name or an [bold].onnx[/] file.",
            rich_help_panel=MODEL,
        ),
    ] = embedded.DEFAULT
    max_error: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help=(
                "Of all readings that are called sure, at most this share is wrong, with 95 % "
                "confidence, for faces like those that the model was measured on; poor crops are "
                "unsure. "
                "[bold]evaluate[/] shows how many faces each share leaves."
            ),
            rich_help_panel=MODEL,
        ),
    ] = None
    max_error_each: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help=(
                "A reading is called unsure if readings of its confidence are wrong more often "
                "than this."
            ),
            rich_help_panel=MODEL,
        ),
    ] = "50%"
    reach: Annotated[
        Literal["auto", "short", "full"],
        typer.Option(
            metavar="NAME",
            help=(
                "How far away faces are found. [bold]auto[/]: near ones at once, far ones (to "
                "about 5 m) within a second; short: near ones only; full: far ones at once, but "
                "three times slower."
            ),
            rich_help_panel=MODEL,
        ),
    ] = "auto"
    provider: Annotated[
        Literal["auto", "cpu", "cuda", "tensorrt"],
        typer.Option(
            metavar="NAME",
            help=(
                "What runs the model: cpu, cuda or tensorrt. [bold]auto[/] uses a TensorRT engine "
                "of the model if there is one, else the GPU if it works, else the CPU."
            ),
            rich_help_panel=MODEL,
        ),
    ] = "auto"

    def error_budget(self) -> "ErrorBudget":
        from rankotom_edge.readings.error_budget import ErrorBudget

        each = parse_budget("--max-error-each", self.max_error_each)
        overall = None if self.max_error is None else parse_budget("--max-error", self.max_error)
        return ErrorBudget(each, overall)


@dataclass(frozen=True)
class ReadingOptions(ModelOptions):
    threads: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            metavar="N",
            help="CPU threads that run the model.",
            rich_help_panel=MODEL,
        ),
    ] = 1
    no_calibration: Annotated[
        bool,
        typer.Option(
            "--no-calibration",
            help="Ignore what [bold]calibrate[/] found for this camera.",
            rich_help_panel=MODEL,
        ),
    ] = False


def parse_budget(option: str, text: str) -> float:
    budget = parse_share(text)
    if not 0 < budget < 1:
        raise typer.BadParameter(f"{option} must be more than 0 and less than 100 %")
    return budget


def camera(
    *,
    source: SourceOptions,
    view: ViewOptions,
    web: WebOptions,
    output: OutputOptions,
    recording: RecordingOptions,
    streams: StreamOptions,
    reading: ReadingOptions,
) -> None:
    """Read faces live: calibrated bars, blends, and when a reading is unsure.
    [dim]rankotom-edge camera --device 0[/]

    Without a camera: [bold]rankotom-edge camera --source demo[/]; without a screen:
    [bold]--view web[/]. In every view [bold]h[/] shows the keys. The reading names the
    expression on the face, not what the person feels. Nothing is written
    unless you ask for it.
    """
    if source.list_devices:
        print_cameras()
        return
    source.check()
    output.check()
    recording.check()
    streams.check()
    budget = reading.error_budget()
    shown = view.resolve(output.json)
    if shown != "web":
        web.check_unused()
    port = web.reserve_port(video=not web.no_video) if shown == "web" else None

    with delay_interrupts():
        from rankotom_edge.live.build import open_classifier, open_reader
        from rankotom_edge.live.key_actions import KeyActions
        from rankotom_edge.live.loop import Sink, Stop, run_loop
        from rankotom_edge.live.run_stats import RunStats
        from rankotom_edge.live.service_manager import ServiceManager
        from rankotom_edge.live.upkeep import Upkeep
        from rankotom_edge.publish.json_lines import json_lines
        from rankotom_edge.readings.drift_monitor import DriftMonitor
        from rankotom_edge.recording.recorder import Recorder, describe_session
        from rankotom_edge.sources import open_source
        from rankotom_edge.views.run_summary import RunSummary
        from rankotom_edge.views.window.snapshot import save_snapshot
        from rankotom_edge.views.window.summary_picture import save_summary

    with exit_statuses(), ExitStack() as stack:
        if port is not None:
            stack.enter_context(port)
        # Before the model: the camera starts while it loads, and a missing camera shows at once.
        paced = shown != "none" and not source.fast
        opened = stack.enter_context(
            open_source(source.name, paced=paced, longest_delay=source.max_pause)
        )
        classifier, notes = stack.enter_context(
            open_classifier(reading.model, reading.provider, reading.threads)
        )
        artifact = classifier.artifact
        own = None if reading.no_calibration else find_own(artifact, opened.name, notes)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        if own is not None and budget.overall is not None:
            raise RankotomError(
                f"--max-error promises what was measured on {own.trial.faces} own faces of "
                f"{opened.name}, and these are too few for a promise. Use --max-error-each, or add "
                "--no-calibration."
            )
        reader = stack.enter_context(
            open_reader(classifier, reading.reach, budget, stills=opened.photographs, own=own)
        )
        measured = artifact.card if own is None else own.measured_model(artifact.card)

        def start_recording() -> Recorder:
            metadata = describe_session(
                opened.name,
                artifact,
                datetime.now().astimezone(),
                fps=opened.fps,
                still=opened.still,
                photographs=opened.photographs,
                options={
                    "max_error": budget.overall,
                    "max_error_each": budget.each,
                    "reach": reading.reach,
                },
                own=own,
            )
            return Recorder(recording.folder, metadata, recording.record_video)

        metrics = None if port is None else prometheus_metrics(artifact)
        sinks: list[Sink] = [] if metrics is None else [metrics]
        if output.json is not None:
            sinks.append(stack.enter_context(json_lines(output.json)))
        snapshot = partial(save_snapshot, recording.record or Path(), measured)
        actions = stack.enter_context(KeyActions(start_recording, snapshot))
        upkeep = Upkeep(actions, recording.retention(), tell)
        if recording.record is not None:
            actions.toggle_recording()
        stats = RunStats(time.monotonic())
        streaming = shown == "none" and output.json is not None
        usual, expire = None if own is None else own.usual, partial(expire_own, artifact, own)
        monitor = DriftMonitor(artifact.card, usual=usual, on_drift=expire)
        summary = RunSummary(output.summary_faces)
        sinks.append(summary)
        sent_to: list[Stream] = []

        def end() -> None:
            drifted = monitor.drift.kind == "drifted"
            drift = ("" if drifted else "confidence: ") + monitor.drift.words
            lines = (*summary.lines(), drift, *(stream.words for stream in sent_to))
            print_summary(stats, opened, lines, problems_only=streaming)
            if output.summary is not None:
                title = f"{opened.name}, {datetime.now():%d %B %Y}"
                save_summary(output.summary, summary, title, drift)

        stack.callback(end)  # after the streams have sent what still waits
        sent_to += stack.enter_context(streams.open(measured, opened, monitor))
        sinks += sent_to
        if metrics is not None:
            metrics.watch(sent_to)
        screen = stack.enter_context(
            open_view(shown, measured, view.picture)
            if port is None or metrics is None
            else port.open_page(artifact, metrics, own)
        )
        stop = Stop(source.frames, source.seconds)
        duties = (stack.enter_context(ServiceManager()), upkeep)
        run_loop(opened, reader, screen, actions, stats, stop, sinks, monitor, duties)


def tell(words: str) -> None:
    with suppress(OSError):  # the terminal is gone
        print(f"note: {words}", file=sys.stderr, flush=True)


def find_own(artifact: "Artifact", source: str, notes: list[str]) -> "SavedCalibration | None":
    """The calibration of this model for this source, unless it has expired."""
    from rankotom_edge.model.own_calibration import find_calibration

    own = find_calibration(artifact, source)
    if own is None:
        return None
    if own.expired is not None:
        notes.append(
            f"the calibration of {own.created:%Y-%m-%d} for {source} has expired, because "
            f"{own.expired}. Label faces of it again, with rankotom-edge calibrate"
        )
        return None
    notes.append(f"{own.words} of {source} ({own.created:%Y-%m-%d}); not so: --no-calibration")
    return own


def expire_own(artifact: "Artifact", own: "SavedCalibration | None", drift: "DriftStatus") -> None:
    """It stays in use until the run ends; every view says that it has expired."""
    from rankotom_edge.model.own_calibration import expire_calibration

    if own is None:
        return
    try:
        words = f"{drift.cause} since {drift.since:%Y-%m-%d %H:%M}"
        expire_calibration(artifact, own, words, datetime.now().astimezone())
    except RankotomError as error:  # a full disk is no reason to stop reading
        print(f"note: {error}", file=sys.stderr)


def print_cameras() -> None:
    from rankotom_edge.sources import list_cameras

    cameras = list_cameras()
    for each in cameras:
        typer.echo(each)
    if not cameras:
        typer.echo("No camera found. To try the program without one: --source demo")
