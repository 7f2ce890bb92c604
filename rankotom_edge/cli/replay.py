"""``rankotom-edge replay``: show a recorded session again, or read it with another model."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.output import JsonTarget, check_outputs, progress, show, write_json
from rankotom_edge.cli.view_options import (
    FastOption,
    ViewName,
    ViewOptions,
    exit_statuses,
    open_view,
    print_summary,
)
from rankotom_edge.interrupts import delay_interrupts

if TYPE_CHECKING:
    from rankotom_edge.recording.session import Session


def replay(
    *,
    session: Annotated[
        Path, typer.Argument(metavar="SESSION", help="A folder that camera --record wrote.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Read the session's video with this model instead, and print what changes.",
        ),
    ] = None,
    fast: FastOption = False,
    view: ViewOptions,
    json: JsonTarget = None,
) -> None:
    """Show a recorded session again, or read it with another model.
    [dim]rankotom-edge replay sessions --model smaller.onnx[/]

    With [bold]--model[/] that model reads the faces of the session's video (camera
    --record-video), and the report compares both models. There are no labels,
    so it shows how far they agree, not which of them is right.
    """
    from rankotom_edge.recording.session import read_session

    recorded = read_session(session)
    if model is not None:
        _compare(recorded, model, json)
        return
    if json is not None:
        raise typer.BadParameter("the readings are JSON already, in the session's readings.jsonl")
    _show_again(recorded, view.resolve(), fast, view.picture)


def _show_again(session: Session, shown: ViewName, fast: bool, picture: bool) -> None:
    with delay_interrupts():
        from rankotom_edge.live.key_actions import KeyActions
        from rankotom_edge.live.loop import Stop, run_loop
        from rankotom_edge.live.run_stats import RunStats
        from rankotom_edge.recording.replay import RecordedReader, SessionClip, unavailable_keys
        from rankotom_edge.sources.playback_source import PlaybackSource
        from rankotom_edge.views.window.snapshot import save_snapshot

    with exit_statuses(), ExitStack() as stack:
        clip = SessionClip(session)
        source = stack.enter_context(PlaybackSource(clip, paced=shown != "none" and not fast))
        snapshot = partial(save_snapshot, Path(), session.model)
        actions = KeyActions(snapshot=snapshot, absent=unavailable_keys(session))
        view = stack.enter_context(open_view(shown, session.model, picture))
        stats = RunStats(time.monotonic())
        stack.callback(print_summary, stats, source, problems_only=True)
        run_loop(source, RecordedReader(session, clip), view, actions, stats, Stop())


def _compare(session: Session, model: str, json: str | None) -> None:
    from calib.agreement import measure_agreement
    from calib.reports.agreement import agreement_report
    from rankotom_edge.live.build import open_classifier
    from rankotom_edge.recording.reclassification import reclassify

    check_outputs(json)
    with (
        open_classifier(model, "cpu") as (classifier, notes),
        progress(f"reading the faces of {session.folder.name}"),
    ):
        faces = reclassify(session, classifier)
        agreement = measure_agreement(faces.recorded, faces.again, faces.labels)
    artifact = classifier.artifact
    if session.metadata.get("calibration") is not None:
        notes.append("it was recorded with a calibration on own faces; the other model has none")
    names = f"{session.model.name} as recorded", artifact.card.name
    show(agreement_report(agreement, *names), json, notes)
    if json is not None:
        models = {"reference": dict(session.metadata["model"]), "candidate": artifact.summary()}
        write_json(json, models | agreement.as_json())
