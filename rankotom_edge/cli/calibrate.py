"""``rankotom-edge calibrate``: confidence measured and mended on the user's own faces."""

from __future__ import annotations

import getpass
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calib.errors import RankotomError, printable
from rankotom_edge.cli.calibrate_options import AskingOptions, FaceOptions, KeepingOptions
from rankotom_edge.cli.output import ReportOptions, check_outputs, show, write_json
from rankotom_edge.cli.view_options import exit_statuses
from rankotom_edge.cli.web_options import PageOptions, ReservedPort
from rankotom_edge.interrupts import delay_interrupts
from rankotom_edge.model import embedded

if TYPE_CHECKING:  # every help page imports this module
    from calib.label_trial import LabelTrial
    from rankotom_edge.labelling.face import FaceToLabel
    from rankotom_edge.labelling.gather import Gathered
    from rankotom_edge.labelling.votes import LabelledModel, Votes
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.classifier import Classifier
    from rankotom_edge.model.own_calibration import SavedCalibration

# Faces to begin with; fewer seldom settle anything: python -m train.experiments.own_calibration
ENOUGH = 50


def calibrate(
    *,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FACES",
            help="A session with video, a folder of photos, or faces kept with --keep-faces.",
            show_default=False,
        ),
    ] = None,
    faces: FaceOptions,
    model: Annotated[
        str,
        typer.Option(metavar="MODEL", help="An embedded name or an [bold].onnx[/] file."),
    ] = embedded.DEFAULT,
    asking: AskingOptions,
    web: PageOptions,
    keeping: KeepingOptions,
    report: ReportOptions,
) -> None:
    """Label faces of your own camera, and make the confidence hold for them.
    [dim]rankotom-edge calibrate --device 0[/]

    You see one face at a time, without what the model says of it, and name
    its expression. From about a hundred labels, best of two people, a
    temperature is fitted. It is kept only if the labels show a gain beyond
    chance; then [bold]camera[/] uses it for this source. The model file stays as it is.
    Exit status 1 if they do not.
    """
    if keeping.list_all:
        list_calibrations()
        return
    if keeping.forget is not None:
        forget_calibration(keeping.forget, model)
        return
    live = faces.live_source(folder)
    if asking.view != "web":
        web.check_unused()
    check_outputs(report.json, report.plot)
    port = web.reserve_port() if asking.view == "web" and not keeping.dry_run else None

    with delay_interrupts():
        from calib.reports.own_calibration import own_calibration_report
        from calib.reports.own_calibration_plot import plot_own_calibration
        from calib.try_calibration import try_calibration
        from rankotom_edge.labelling.choose import choose_faces
        from rankotom_edge.labelling.kept_faces import keep_faces, make_empty_folder
        from rankotom_edge.labelling.label_file import check_rater
        from rankotom_edge.labelling.terminal import check_terminal
        from rankotom_edge.labelling.votes import LabelledModel
        from rankotom_edge.live.build import open_classifier
        from rankotom_edge.model.own_calibration import find_calibration
        from rankotom_edge.views.terminal.view import screen_console

    with exit_statuses(), ExitStack() as stack:
        if port is not None:
            stack.enter_context(port)
        rater = check_rater(asking.rater or user_name())
        asks = asking.view != "none" and not keeping.dry_run
        if asks and port is None:
            check_terminal(screen_console(), sys.stdin)
        keep = None if keeping.dry_run else keeping.keep_faces
        if keep is not None:
            make_empty_folder(keep)
        classifier, notes = stack.enter_context(open_classifier(model, "cpu"))
        artifact = classifier.artifact
        check_labels(artifact.card.labels)
        judged = LabelledModel(artifact.card.name, artifact.sha256, artifact.card.labels)
        gathered = gather(folder, live, faces.seconds, keeping.dry_run, classifier)
        source = source_of(gathered, faces.of)
        chosen = choose_faces(gathered.faces, faces.faces)
        if keep is not None:
            keep_faces(keep, chosen, artifact, source)
        before = find_calibration(artifact, source)
        since = None if before is None else before.labels_since
        if asks:
            ask(chosen, judged, source, rater, port)
        votes = read_votes(source, judged, since)
        trial = try_calibration(votes.logits, votes.counts, votes.groups)
        if trial.verdict.passed and not keeping.dry_run:
            notes.append(save(trial, gathered, artifact, source, since))
        notes += remarks(votes, trial, before, keeping.dry_run)
        name = f"{artifact.card.name}, {source}"
        show(own_calibration_report(trial, name), report.json, notes)
        if report.plot is not None:
            plot_own_calibration(trial, name, report.plot)
        if report.json is not None:
            about = {"source": source, "model": artifact.summary(), "raters": list(votes.raters)}
            write_json(report.json, about | trial.as_json())
    if not trial.verdict.passed:
        raise typer.Exit(1)


def gather(
    folder: Path | None,
    live: str | None,
    seconds: float | None,
    dry_run: bool,
    classifier: Classifier,
) -> Gathered:
    from rankotom_edge.labelling.gather import Gathered, gather_from_folder, gather_from_source
    from rankotom_edge.sources import open_source
    from rankotom_edge.sources.source_parser import parse_source

    if live is None:
        assert folder is not None
        gathered = gather_from_folder(folder, classifier)
    elif (spec := parse_source(live)).kind == "images":
        raise RankotomError(
            f"{spec.name} has photos: give their folder as FACES, and --for their camera."
        )
    elif dry_run:  # the labels are enough
        return Gathered([], spec.name)
    elif seconds is None and not sys.stdin.isatty():
        raise typer.BadParameter("without a terminal, say how long to gather: --seconds N")
    else:
        run = f"{datetime.now():%Y-%m-%dT%H-%M-%S}"
        with open_source(live) as source:
            gathered = gather_from_source(source, classifier, seconds, run)
    if not gathered.faces:
        raise RankotomError(
            f"No face was found in {folder or gathered.source} for long enough to be labelled. "
            "Come closer, give more light, or gather for longer."
        )
    return gathered


def source_of(gathered: Gathered, given: str | None) -> str:
    """The source's name, as ``camera`` has it."""
    from rankotom_edge.sources.source_parser import parse_source

    named = None if given is None else parse_source(given).name
    if None not in (named, gathered.source) and named != gathered.source:
        raise RankotomError(
            f"These faces are of {gathered.source}, so their labels say nothing of {named}. Leave "
            "--for out; it is for photos."
        )
    if named is not None:
        return named
    if gathered.source is None:
        raise RankotomError(
            "Photos do not say which camera they are of. Add --for and its name, as you give it "
            "to camera: --for 0"
        )
    return gathered.source


def user_name() -> str:
    """In a container nobody may have a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"


def check_labels(labels: tuple[str, ...]) -> None:
    from calib.emotions import EMOTIONS

    if labels not in (EMOTIONS, EMOTIONS[:-1]):
        raise RankotomError(
            f"This model names {', '.join(labels)}. Votes can be weighed for {', '.join(EMOTIONS)} "
            "in this order, or for the first seven, because only their raters were measured."
        )


def ask(
    chosen: Sequence[FaceToLabel],
    judged: LabelledModel,
    source: str,
    rater: str,
    port: ReservedPort | None,
) -> None:
    from rankotom_edge.labelling.labelling import open_labelling
    from rankotom_edge.labelling.terminal import label_in_terminal
    from rankotom_edge.model.own_calibration import labels_path, make_calibrations_folder

    path = labels_path(source, make_calibrations_folder())

    def now() -> datetime:
        return datetime.now().astimezone()

    with open_labelling(path, chosen, judged, rater, enough=ENOUGH, clock=now) as labelling:
        if port is None:
            label_in_terminal(labelling)
        else:
            port.open_labelling_page(labelling)


def read_votes(source: str, judged: LabelledModel, since: datetime | None) -> Votes:
    """Of all the faces of this source that were labelled for this model, after the last drift."""
    from rankotom_edge.labelling.label_file import read_labels
    from rankotom_edge.labelling.votes import count_votes
    from rankotom_edge.model.own_calibration import calibrations_folder, labels_path

    path = labels_path(source, calibrations_folder())
    labels = read_labels(path) if path.exists() else ()
    votes = count_votes([each for each in labels if since is None or each.time > since], judged)
    if not votes.faces:
        drift = "" if since is None else f" since the drift of {since:%Y-%m-%d %H:%M}"
        raise RankotomError(
            f"No face of {source} has a label for {judged.name} yet{drift}. Label some in a "
            "terminal, or with --view web."
        )
    return votes


def save(
    trial: LabelTrial,
    gathered: Gathered,
    artifact: Artifact,
    source: str,
    since: datetime | None,
) -> str:
    import numpy as np

    from rankotom_edge.model.own_calibration import SavedCalibration, Usual, save_calibration

    read = trial.calibration.apply(np.stack([face.logits for face in gathered.faces]))
    calibration = SavedCalibration(
        model=artifact.card.name,
        sha256=artifact.sha256,
        classes=artifact.card.labels,
        source=source,
        created=datetime.now().astimezone(),
        trial=trial,
        usual=Usual.of(read),
        labels_since=since,
    )
    save_calibration(calibration, artifact)
    undo = f"rankotom-edge calibrate --forget {shlex.quote(source)} --model {artifact.cli_name}"
    return f"camera now uses this for {source}. Undo: {undo}"


def remarks(
    votes: Votes, trial: LabelTrial, before: SavedCalibration | None, dry_run: bool
) -> Iterator[str]:
    yield from votes.left_out.words
    if votes.people is not None:
        yield (
            f"these are different moments of only {votes.people} "
            f"{'face' if votes.people == 1 else 'faces'}, so it is tested for these people alone"
        )
    if dry_run:
        yield "nothing was written (--dry-run)"
    elif not trial.verdict.passed:
        yield "nothing was changed; the labels are kept, and the next ones are added to them"
        if before is not None and before.expired is None:
            yield f"the calibration of {before.created:%Y-%m-%d %H:%M} stays in use"


def list_calibrations() -> None:
    from calib.reports.widgets import plain_table
    from rankotom_edge.model.own_calibration import calibration_files, read_calibration

    files, notes = calibration_files(), []
    if not files:
        typer.echo("There is no calibration yet. To make one: rankotom-edge calibrate")
        return
    table = plain_table(
        ("source", "left"), ("model", "left"), ("made", "left"), ("faces", "right"), ("T", "right")
    )
    for file in files:
        try:
            found = read_calibration(file)
        except RankotomError as error:
            notes.append(str(error))
            continue
        if found.expired is not None:
            notes.append(f"that of {printable(found.source)} has expired: {found.expired}")
        temperature = found.trial.calibration.temperature
        made = f"{found.created:%Y-%m-%d}"
        faces, shown = str(found.trial.faces), f"{temperature:.2f}"
        table.add_row(printable(found.source), found.model, made, faces, shown)
    show(table, None, notes)


def forget_calibration(named: str, model: str) -> None:
    from rankotom_edge.model.artifact import load_artifact
    from rankotom_edge.model.own_calibration import calibration_path, calibrations_folder
    from rankotom_edge.sources.source_parser import parse_source

    artifact, folder = load_artifact(model), calibrations_folder()
    try:
        source = parse_source(named).name
    except RankotomError:
        source = named  # as --list names it: a file that is gone
    path = calibration_path(artifact, source, folder)
    if not path.exists():
        raise RankotomError(
            f"There is no calibration of {artifact.card.name} for {source}. To see which there "
            "are: rankotom-edge calibrate --list"
        )
    path.unlink()
    typer.echo(
        f"Forgotten: camera reads {source} as {artifact.card.name} was shipped. The labels stay."
    )
