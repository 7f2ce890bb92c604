"""``rankotom-edge evaluate``: what a model's confidence is worth."""

from pathlib import Path
from typing import Annotated

import typer

from rankotom_edge.commands.output import (
    JsonTarget,
    PlotTarget,
    Resamples,
    Seed,
    show,
    working,
    write_json,
)
from rankotom_edge.commands.predictions import (
    PREDICTIONS_HELP,
    DataOption,
    Dataset,
    DatasetOption,
    FacesChoice,
    HalfOption,
    Split,
    SplitOption,
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
            "--model", metavar="NAME|FILE.onnx", help="Instead, ask a model about the faces below."
        ),
    ] = None,
    json: JsonTarget = None,
    plot: PlotTarget = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save-predictions", metavar="FILE.npz", help="Keep what was measured, for later."
        ),
    ] = None,
    dataset: DatasetOption = Dataset.ferplus,
    data: DataOption = None,
    split: SplitOption = Split.valid,
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
    from calib.report import evaluation_report, heatmap_as_json

    named = model or predictions
    if named is None or (model and predictions):
        raise typer.BadParameter("give either a file of predictions or --model")
    source = predictions_from(named, FacesChoice(dataset, data, split, half))
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
    if plot is not None:
        from calib.plot import plot_evaluation

        plot_evaluation(evaluation, plot, heatmap)
    if json is not None:
        compounds = None if heatmap is None else heatmap_as_json(heatmap)
        faces = None if source.faces is None else source.faces.as_json()
        write_json(json, {**evaluation.as_json(), "compounds": compounds, "data": faces})
    show(evaluation_report(evaluation, heatmap), json)
