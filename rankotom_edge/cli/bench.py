"""``rankotom-edge bench``: what reading faces costs on this machine."""

from contextlib import ExitStack
from typing import Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.output import ReportOptions, check_outputs, progress, show, write_json
from rankotom_edge.model import embedded


def bench(
    *,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help=(
                "A source, as for [bold]camera[/]. "
                r"[dim]\[default: the demo as a 640 x 480 video][/]"
            ),
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="An embedded name or an [bold].onnx[/] file.")
    ] = embedded.DEFAULT,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help=(
                "The model to compare with. "
                r"[dim]\[default: FP32 for an INT8 model, INT8 for an FP32 one][/]"
            ),
            show_default=False,
        ),
    ] = None,
    frames: Annotated[
        int,
        typer.Option(min=1, max=1_000_000, metavar="N", help="Frames to time, after the warm-up."),
    ] = 600,
    report: ReportOptions,
) -> None:
    """What reading faces costs on this machine, stage by stage.
    [dim]rankotom-edge bench --model ferplus-fp32 --plot bench.png[/]

    The live loop without a view: how long detecting, following, cropping and
    classifying take, and how many frames a second that allows. Then the model
    compared with another, for one face and for four, by number of threads.
    Other programs slow all of it; the ratios hold.
    """
    check_outputs(report.json, report.plot)

    from rankotom_edge.bench.loop_cost import WARM_UP, demo_clip, measure_loop
    from rankotom_edge.bench.model_comparison import compare_models, thread_counts, usable_cores
    from rankotom_edge.bench.report import BenchResult, bench_report, plot_bench
    from rankotom_edge.live.build import open_classifier, open_reader
    from rankotom_edge.model.artifact import load_artifact
    from rankotom_edge.model.target import target_warning
    from rankotom_edge.sources import open_source

    with progress("reading faces"), ExitStack() as stack:
        classifier, notes = stack.enter_context(open_classifier(model))
        measured = classifier.artifact
        other = load_artifact(against or counterpart(measured.card.precision))
        path = source or str(stack.enter_context(demo_clip(frames + WARM_UP)))
        opened = stack.enter_context(open_source(path))
        reader = stack.enter_context(open_reader(classifier, stills=opened.photographs))
        cost = measure_loop(opened, reader, frames)
    if cost is None:
        raise RankotomError(
            f"{opened.name} gave too few frames: the warm-up alone takes {WARM_UP}. Give a longer "
            "source, or none to use the demo."
        )
    with progress("timing both models"):
        comparisons = compare_models(measured, other, thread_counts(usable_cores()))
    name = opened.name if source else "demo clip, 640 x 480"
    result = BenchResult(name, classifier.provider, measured, other, cost, comparisons)
    if warning := target_warning(other.card):
        notes.append(warning)
    if not any(frame.faces for frame in cost.frames):
        notes.append(f"no face was found in {opened.name}: nothing was cropped or classified")
    show(bench_report(result), report.json, notes)
    if report.json is not None:
        write_json(report.json, result.as_json())
    if report.plot is not None:
        plot_bench(result, report.plot)


def counterpart(precision: str) -> str:
    """The embedded model to compare with by default."""
    return embedded.INT8 if precision == "fp32" else embedded.FP32
