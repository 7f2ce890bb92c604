"""``rankotom-edge camera``: the live loop on a camera, a file, a stream or the demo."""

from __future__ import annotations

import math
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from rankotom_edge.cli.view_options import (
    OUTPUT,
    FastOption,
    LinesTarget,
    PictureOption,
    ViewName,
    ViewOption,
    chosen_view,
    ended_well,
    open_view,
    say_what_it_came_to,
    snapshot_to,
)
from rankotom_edge.cli.web_options import (
    HostOption,
    NoVideoOption,
    PortOption,
    TokenFileOption,
    count,
    take_port,
)
from rankotom_edge.interrupts import undisturbed
from rankotom_edge.model import embedded as models

MODEL = "How faces are read"
SESSIONS = "sessions"  # where the r key records to when --record does not say


class Reach(str, Enum):
    auto = "auto"
    short = "short"
    full = "full"


class ProviderName(str, Enum):
    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"
    tensorrt = "tensorrt"


def share(text: str) -> float:
    """A share as people write it: 20%, 20 % or 0.2."""
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no share; write 20% or 0.2") from None
    if not 0 < value < 1:
        raise typer.BadParameter(f"{text!r} is not between 0 and 100 %; write 20% or 0.2")
    return value


def camera(
    device: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help=r"The camera's number. [dim]\[default: 0][/]"),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help=(
                "Instead: [bold]/dev/video0[/], csi://0, a video or GIF, a folder or glob of "
                "images, rtsp://…, http://…, udp://…, a GStreamer pipeline, or [bold]demo[/]."
            ),
        ),
    ] = None,
    list_devices: Annotated[
        bool, typer.Option("--list-devices", help="Show the cameras that there are, and end.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="N", help="End after so many seconds.")
    ] = None,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after so many frames.")
    ] = None,
    fast: FastOption = False,
    view: ViewOption = ViewName.auto,
    picture: PictureOption = False,
    host: HostOption = None,
    port: PortOption = None,
    token_file: TokenFileOption = None,
    no_video: NoVideoOption = False,
    json: LinesTarget = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Record a session: the readings, no pictures. Also where the r key records to.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    record_video: Annotated[
        bool,
        typer.Option("--record-video", help="Record the pictures as well.", rich_help_panel=OUTPUT),
    ] = False,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="An embedded name or an [bold].onnx[/] file.",
            rich_help_panel=MODEL,
        ),
    ] = models.DEFAULT,
    max_error: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help=(
                "How often a reading may be wrong before it is called unsure. It becomes the "
                "confidence that is needed, by the model's own reliability table."
            ),
            rich_help_panel=MODEL,
        ),
    ] = "50%",
    reach: Annotated[
        Reach,
        typer.Option(
            metavar="NAME",
            help=(
                "[bold]auto[/]: near faces at once, and far ones, to some five metres, within a "
                "second; short: near ones alone; full: far ones at once, three times as slow."
            ),
            rich_help_panel=MODEL,
        ),
    ] = Reach.auto,
    provider: Annotated[
        ProviderName,
        typer.Option(
            metavar="NAME",
            help=(
                "cpu, cuda or tensorrt; [bold]auto[/] is an engine of the model where there is "
                "one, else the GPU where it works, else the CPU."
            ),
            rich_help_panel=MODEL,
        ),
    ] = ProviderName.auto,
    threads: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of the model.", rich_help_panel=MODEL)
    ] = 1,
) -> None:
    """Live: every face with calibrated bars, blends and when it is unsure.
    [dim]rankotom-edge camera --device 0[/]

    Without a camera: [bold]rankotom-edge camera --source demo[/]; without a screen:
    [bold]--view web[/]. In every view [bold]h[/] shows the keys. It names the expression that
    is seen, not what a person feels. Nothing is written unless you ask for it.
    """
    if list_devices:
        _show_cameras()
        return
    if device is not None and source is not None:
        raise typer.BadParameter("give --device or --source, not both")
    if record_video and record is None:
        raise typer.BadParameter("--record-video needs --record DIR, to say where to")
    if seconds is not None and not math.isfinite(seconds):
        raise typer.BadParameter("--seconds takes a number of seconds")
    budget = share(max_error)
    shown = chosen_view(view, json)
    serving = take_port(shown, host, port, token_file, no_video)

    with undisturbed():
        from rankotom_edge.live.build import open_classifier, open_reader
        from rankotom_edge.live.key_actions import KeyActions, Sink
        from rankotom_edge.live.loop import Stop, run_loop
        from rankotom_edge.live.run_stats import RunStats
        from rankotom_edge.publish.json_lines import json_lines
        from rankotom_edge.readings.drift_monitor import DriftMonitor
        from rankotom_edge.recording.session import Recorder, describe_session
        from rankotom_edge.sources import open_source

    with ended_well(), ExitStack() as stack:
        if serving is not None:
            stack.enter_context(serving)
        # Before the model: a camera wakes up while it loads, and an absent one is told at once.
        opened = stack.enter_context(
            open_source(
                source if source is not None else str(device or 0),
                paced=shown is not ViewName.none and not fast,
            )
        )
        classifier, notes = stack.enter_context(open_classifier(model, provider.value, threads))
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        reader = stack.enter_context(
            open_reader(classifier, reach.value, budget, stills=opened.photographs)
        )
        artifact = classifier.artifact

        def start_recording() -> Recorder:
            metadata = describe_session(
                opened.name,
                artifact,
                datetime.now().astimezone(),
                fps=opened.fps,
                still=opened.still,
                photographs=opened.photographs,
                options={"max_error": budget, "reach": reach.value},
            )
            return Recorder(record or Path(SESSIONS), metadata, record_video)

        metrics = None if serving is None else count(artifact)
        sinks: list[Sink] = [] if metrics is None else [metrics]
        if json is not None:
            sinks.append(stack.enter_context(json_lines(json)))
        desk = stack.enter_context(
            KeyActions(
                sinks=sinks,
                record=start_recording,
                snapshot=snapshot_to(record or Path(), artifact.card),
            )
        )
        if record is not None:
            desk.toggle_recording()
        tally = RunStats(time.monotonic())
        streaming = shown is ViewName.none and json is not None
        stack.callback(say_what_it_came_to, tally, opened, quiet=streaming)
        screen = stack.enter_context(
            open_view(shown, artifact.card, picture)
            if serving is None or metrics is None
            else serving.open(artifact, metrics)
        )
        monitor = DriftMonitor(artifact.card)
        run_loop(opened, reader, screen, desk, tally, Stop(frames, seconds), monitor)


def _show_cameras() -> None:
    from rankotom_edge.sources import list_cameras

    found = list_cameras()
    for each in found:
        typer.echo(each)
    if not found:
        typer.echo("No camera is here. To see it at work without one: --source demo")
