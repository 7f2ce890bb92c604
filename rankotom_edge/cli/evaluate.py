"""``rankotom-edge evaluate``: accuracy and calibration of a model."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rankotom_edge.cli.option_groups import OUTPUT
from rankotom_edge.cli.output import (
    BootstrapOptions,
    ReportOptions,
    check_outputs,
    progress,
    show,
    write_json,
)
from rankotom_edge.cli.predictions import (
    PREDICTIONS_HELP,
    FacesOptions,
    check_npz_name,
    load_predictions,
    save_predictions,
    with_title,
)

SET_COVERAGES = (0.8, 0.9, 0.95)  # of the prediction sets in the report


def evaluate(
    *,
    predictions: Annotated[
        str | None, typer.Argument(metavar="PREDICTIONS", help=PREDICTIONS_HELP, show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="A model to run on the faces below instead: a name or an [bold].onnx[/] file.",
        ),
    ] = None,
    report: ReportOptions,
    save: Annotated[
        Path | None,
        typer.Option("--save-predictions", metavar="FILE.npz", help="Save the predictions."),
        OUTPUT,
    ] = None,
    faces: FacesOptions,
    bootstrap: BootstrapOptions,
) -> None:
    """What a model's confidence is worth: its accuracy and calibration.
    [dim]rankotom-edge evaluate predictions.npz --plot reliability.png[/]

    Metrics come with their 95 % interval. ECE, AECE and MCE also come with
    their [bold]floor[/]: what a perfectly calibrated model with the same
    confidences would show, by chance, on as many faces.
    """
    from calib.blends import compound_heatmap
    from calib.evaluation import evaluate as measure
    from calib.guarantees import summarise_sets
    from calib.reports.terminal import evaluation_report
    from calib.reports.wording import model_name

    named = model or predictions
    if named is None or (model and predictions):
        raise typer.BadParameter("give either a file of predictions or --model")
    faces.check_needed(named)
    check_npz_name(save)
    check_outputs(report.json, report.plot, [save])
    loaded = load_predictions(named, faces)
    values = loaded.predictions
    if save is not None:
        save_predictions(values, save)
    with progress(f"resampling {len(values):,} predictions"):
        evaluation = measure(
            values,
            temperature=loaded.temperature,
            model=loaded.model,
            resamples=bootstrap.resamples,
            seed=bootstrap.seed,
        )
    heatmap = None
    if values.votes is not None and len(values.classes) > 1:
        heatmap = compound_heatmap(values.probabilities, values.votes, values.classes)
    titled, data = evaluation, None
    if loaded.faces is not None:
        titled = with_title(evaluation, f"{model_name(evaluation)} on {loaded.faces.name}")
        data = loaded.faces.as_json()
    sets = summarise_sets(values.probabilities, values.labels, SET_COVERAGES)
    show(evaluation_report(titled, heatmap, sets), report.json, loaded.caveats)
    if report.json is not None:
        compounds = None if heatmap is None else heatmap.as_json()
        details = {"compounds": compounds, "sets": [asdict(each) for each in sets], "data": data}
        write_json(report.json, {**evaluation.as_json(), **details})
    if report.plot is not None:
        from calib.reports.evaluation_plot import plot_evaluation

        plot_evaluation(titled, report.plot, heatmap)
