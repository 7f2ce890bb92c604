"""``rankotom-edge bench``: what reading faces costs on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.output import (
    JsonTarget,
    PlotTarget,
    check_outputs,
    show,
    working,
    write_json,
)
from rankotom_edge.model import embedded as models


def bench(
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="As [bold]camera[/] takes it; else the demo's portrait as a video of 640 x 480.",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="An embedded name or an [bold].onnx[/] file.")
    ] = models.DEFAULT,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The model to time it beside; else FP32 beside INT8, or INT8 beside FP32.",
        ),
    ] = None,
    frames: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of the source, after the warm-up.")
    ] = 600,
    json: JsonTarget = None,
    plot: PlotTarget = None,
) -> None:
    """What reading faces costs on this machine, stage by stage.
    [dim]rankotom-edge bench --model ferplus-fp32 --plot bench.png[/]

    The live loop without a view: the times of detecting, following, cropping
    and classifying, and how many frames a second it comes to. Then the model
    beside another one, in turns, for one face and for four, thread by thread.
    Other programs make all of it slower; the ratios hold.
    """
    check_outputs(json, plot)

    from rankotom_edge.bench.loop_cost import WARM_UP, clip, compare_models, measure_loop
    from rankotom_edge.bench.report import (
        Speeds,
        cores_here,
        plot_speeds,
        speeds_report,
        swept_threads,
    )
    from rankotom_edge.model.artifact import load_artifact
    from rankotom_edge.model.classifier import fastest_classifier
    from rankotom_edge.model.target import target_warning
    from rankotom_edge.sources import open_source

    measured = load_artifact(model)
    other = load_artifact(against or counterpart(measured.card.precision))
    notes = [words for words in map(target_warning, (measured.card, other.card)) if words]
    classifier, why = fastest_classifier(measured)
    with working("reading faces"), ExitStack() as stack:
        stack.enter_context(classifier)
        named = source or str(stack.enter_context(clip(frames + WARM_UP)))
        opened = stack.enter_context(open_source(named))
        cost = measure_loop(opened, classifier, frames)
    if cost is None:
        raise RankotomError(
            f"{opened.name} gave too few frames: {WARM_UP} go to the warm-up. Give a longer one, "
            "or none for the demo."
        )
    with working("taking the time of both models, in turns"):
        beside = compare_models(measured, other, swept_threads(cores_here()))
    name = opened.name if source else "demo clip, 640 x 480"
    speeds = Speeds(name, classifier.provider, measured, other, cost, beside)
    if not any(frame.faces for frame in cost.frames):
        notes.append(f"no face was found in {opened.name}: nothing was cropped or classified")
    show(speeds_report(speeds), json, [*notes, *([why] if why else [])])
    if json is not None:
        write_json(json, speeds.as_json())
    if plot is not None:
        plot_speeds(speeds, plot)


def counterpart(precision: str) -> str:
    """The embedded model that a person would hold another one against."""
    if precision != "fp32":
        return models.FP32
    return models.INT8_S8S8 if models.DEFAULT == models.FP32 else models.INT8
