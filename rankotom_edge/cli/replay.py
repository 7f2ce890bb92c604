"""``rankotom-edge replay``: a recorded session again, or another model on it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.output import JsonTarget, check_outputs, show, working, write_json
from rankotom_edge.cli.view_options import (
    FastOption,
    PictureOption,
    ViewName,
    ViewOption,
    chosen_view,
    ended_well,
    open_view,
    say_what_it_came_to,
    snapshot_to,
)
from rankotom_edge.interrupts import undisturbed

if TYPE_CHECKING:
    from rankotom_edge.recording.session import Session


def replay(
    session: Annotated[
        Path, typer.Argument(metavar="SESSION", help="The folder that camera --record made.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Instead: read its video with another model, and print what changes.",
        ),
    ] = None,
    fast: FastOption = False,
    view: ViewOption = ViewName.auto,
    picture: PictureOption = False,
    json: JsonTarget = None,
) -> None:
    """A recorded session again, as it was shown; or another model on it.
    [dim]rankotom-edge replay sessions --model smaller.onnx[/]

    With [bold]--model[/] the faces of its video (camera --record-video) are read again, and
    the drift between the two models is printed. There are no labels, so it
    tells how far they agree, not which of them is right.
    """
    from rankotom_edge.recording.session import read_session

    recorded = read_session(session)
    if model is not None:
        _compare(recorded, model, json)
        return
    if json is not None:
        raise typer.BadParameter("the readings are JSON already, in the session's readings.jsonl")
    _show_again(recorded, chosen_view(view, None), fast, picture)


def _show_again(session: Session, shown: ViewName, fast: bool, picture: bool) -> None:
    with undisturbed():
        from rankotom_edge.live.key_actions import KeyActions
        from rankotom_edge.live.loop import Stop, run_loop
        from rankotom_edge.live.run_stats import RunStats
        from rankotom_edge.recording.replay import RecordedReader, SessionClip, unavailable_keys
        from rankotom_edge.sources.playback_source import PlaybackSource

    paced = shown is not ViewName.none and not fast
    with ended_well(), ExitStack() as stack:
        clip = SessionClip(session)
        source = stack.enter_context(PlaybackSource(clip, paced))
        snapshot = snapshot_to(Path(), session.model)
        desk = KeyActions(snapshot=snapshot, absent=unavailable_keys(session))
        view = stack.enter_context(open_view(shown, session.model, picture))
        tally = RunStats(time.monotonic())
        stack.callback(say_what_it_came_to, tally, source, quiet=True)
        run_loop(source, RecordedReader(session, clip), view, desk, tally, Stop())


def _compare(session: Session, model: str, json: str | None) -> None:
    from calib.agreement import measure_agreement
    from calib.reports.agreement import agreement_report
    from rankotom_edge.model.artifact import load_artifact
    from rankotom_edge.model.classifier import Classifier
    from rankotom_edge.model.target import target_warning
    from rankotom_edge.recording.reclassification import reclassify

    check_outputs(json)
    artifact = load_artifact(model)
    with working(f"{artifact.card.name} reads the faces of {session.folder.name}"):
        faces = reclassify(session, Classifier(artifact))
        agreement = measure_agreement(faces.recorded, faces.again, faces.labels)
    before = session.model.name
    warning = target_warning(artifact.card)
    notes = [] if warning is None else [warning]
    show(agreement_report(agreement, f"{before} as recorded", artifact.card.name), json, notes)
    if json is not None:
        models = {"reference": dict(session.metadata["model"]), "candidate": artifact.summary()}
        write_json(json, models | agreement.as_json())
