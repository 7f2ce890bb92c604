"""``rankotom-edge evaluate``: what a model's confidence is worth."""

from pathlib import Path
from typing import Annotated

import typer

from rankotom_edge.cli.output import (
    JsonTarget,
    PlotTarget,
    Resamples,
    Seed,
    check_outputs,
    show,
    working,
    write_json,
)
from rankotom_edge.cli.predictions import (
    PREDICTIONS_HELP,
    DataOption,
    DatasetOption,
    FacesChoice,
    HalfOption,
    SplitOption,
    check_saved_name,
    entitled,
    predictions_from,
    save_predictions,
)


def evaluate(
    predictions: Annotated[
        str | None,
        typer.Argument(metavar="PREDICTIONS", help=PREDICTIONS_HELP, show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Instead, ask a model, by name or [bold].onnx[/] file, about the faces below.",
        ),
    ] = None,
    json: JsonTarget = None,
    plot: PlotTarget = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save-predictions", metavar="FILE.npz", help="Keep the predictions, for later."
        ),
    ] = None,
    dataset: DatasetOption = None,
    data: DataOption = None,
    split: SplitOption = None,
    half: HalfOption = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
) -> None:
    """What a model's confidence is worth: its accuracy and calibration.
    [dim]rankotom-edge evaluate predictions.npz --plot reliability.png[/]

    Every figure comes with its 95 % interval. A calibration error also comes
    with its [bold]floor[/]: what a perfectly calibrated model with the same
    confidences would show, by chance, on as many faces.
    """
    from calib.blends import compound_heatmap
    from calib.evaluation import evaluate as measure
    from calib.reports.terminal import evaluation_report, heatmap_as_json
    from calib.reports.wording import model_name

    named = model or predictions
    if named is None or (model and predictions):
        raise typer.BadParameter("give either a file of predictions or --model")
    choice = FacesChoice(dataset, data, split, half)
    choice.check_needed(named)
    check_saved_name(save)
    check_outputs(json, plot, [save])
    source = predictions_from(named, choice)
    read = source.predictions
    if save is not None:
        save_predictions(read, save)
    with working(f"resampling {len(read):,} predictions"):
        evaluation = measure(
            read,
            temperature=source.temperature,
            model=source.model,
            resamples=resamples,
            seed=seed,
        )
    heatmap = None
    if read.votes is not None and len(read.classes) > 1:
        heatmap = compound_heatmap(read.probabilities, read.votes, read.classes)
    titled, faces = evaluation, None
    if source.faces is not None:
        titled = entitled(evaluation, f"{model_name(evaluation)} on {source.faces.name}")
        faces = source.faces.as_json()
    show(evaluation_report(titled, heatmap), json, source.caveats)
    if json is not None:
        compounds = None if heatmap is None else heatmap_as_json(heatmap)
        write_json(json, {**evaluation.as_json(), "compounds": compounds, "data": faces})
    if plot is not None:
        from calib.reports.plots import plot_evaluation

        plot_evaluation(titled, plot, heatmap)
