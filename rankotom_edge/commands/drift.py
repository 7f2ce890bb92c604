"""``rankotom-edge drift``: what the second of two models costs, on the same faces."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankotom_edge.commands.output import (
    JsonTarget,
    PlotTarget,
    Resamples,
    Seed,
    check_outputs,
    show,
    working,
    write_json,
)
from rankotom_edge.commands.predictions import (
    MODEL_HELP,
    PREDICTIONS_HELP,
    DataOption,
    DatasetOption,
    FacesChoice,
    HalfOption,
    SplitOption,
    entitled,
    predictions_from,
)

if TYPE_CHECKING:
    from calib.drift import Drift


def share(text: str) -> float:
    """``0.5%`` and ``0.005`` are the same limit."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is not a share; write 0.5% or 0.005")
    return value


def _limit(words: str, default: str) -> Any:
    """The defaults are those of calib.drift.Limits, which --help must not wait for."""
    return typer.Option(
        parser=share,
        metavar="SHARE",
        help=rf"{words} [dim]\[default: {default}][/]",
        show_default=False,
        rich_help_panel="Limits",
    )


def drift(
    reference: Annotated[
        str, typer.Argument(metavar="A", help=f"The reference: {MODEL_HELP}; or {PREDICTIONS_HELP}")
    ],
    candidate: Annotated[
        str, typer.Argument(metavar="B", help="The candidate: the same faces in the same order.")
    ],
    json: JsonTarget = None,
    plot: PlotTarget = None,
    ece_limit: Annotated[float | None, _limit("How much ECE may rise.", "0.5%")] = None,
    aece_limit: Annotated[float | None, _limit("How much AECE may rise.", "0.5%")] = None,
    accuracy_limit: Annotated[float | None, _limit("How much accuracy may fall.", "0.5%")] = None,
    flips_limit: Annotated[
        float | None, _limit("On how many faces the emotion may change.", "2%")
    ] = None,
    dataset: DatasetOption = None,
    data: DataOption = None,
    split: SplitOption = None,
    half: HalfOption = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
) -> None:
    """What a smaller or newer model costs, measured on the same faces.
    [dim]rankotom-edge drift fp32.npz int8.npz --flips-limit 1%[/]

    Before and after side by side, each change with its paired 95 % interval,
    and which emotions paid for it. Exit status 1 where a change is past its
    limit.
    """
    from dataclasses import replace

    from calib.drift import Limits, judge, measure_drift
    from calib.report import drift_report

    chosen = {
        "ece": ece_limit,
        "aece": aece_limit,
        "accuracy": accuracy_limit,
        "flips": flips_limit,
    }
    limits = replace(
        Limits(), **{name: limit for name, limit in chosen.items() if limit is not None}
    )
    choice = FacesChoice(dataset, data, split, half)
    choice.check_needed(reference, candidate)
    check_outputs(json, plot)
    before, after = predictions_from(reference, choice), predictions_from(candidate, choice)
    with working(f"resampling {len(before.predictions):,} pairs of predictions"):
        measured = measure_drift(
            before.predictions,
            after.predictions,
            reference_model=before.model,
            candidate_model=after.model,
            reference_temperature=before.temperature,
            candidate_temperature=after.temperature,
            size_ratio=after.bytes / before.bytes if before.bytes and after.bytes else None,
            resamples=resamples,
            seed=seed,
        )
    verdict = judge(measured, limits)
    faces = before.faces or after.faces
    titled = titled_drift(measured, (reference, candidate), None if faces is None else faces.name)
    caveats = dict.fromkeys(side.caveat for side in (before, after) if side.caveat)
    show(drift_report(titled, verdict, limits), json, caveats)
    if json is not None:
        data_used = None if faces is None else faces.as_json()
        write_json(json, {**measured.as_json(verdict), "data": data_used})
    if plot is not None:
        from calib.plot import plot_drift

        plot_drift(titled, verdict, limits, plot)
    if not verdict.passed:
        raise typer.Exit(1)


def titled_drift(drift: "Drift", given: tuple[str, str], faces: str | None) -> "Drift":
    """Two models of one name are told apart by the paths they were given as."""
    from dataclasses import replace

    from calib.verdicts import model_name

    before, after = model_name(drift.reference), model_name(drift.candidate)
    if before == after:
        before, after = given
    if faces is not None:
        after = f"{after} on {faces}"
    return replace(
        drift,
        reference=entitled(drift.reference, before),
        candidate=entitled(drift.candidate, after),
    )
