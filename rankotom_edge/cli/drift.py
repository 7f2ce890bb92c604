"""``rankotom-edge drift``: what the second of two models costs, on the same faces."""

from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.drift_limits import (
    AccuracyLimit,
    AeceLimit,
    EceLimit,
    FlipsLimit,
    chosen_limits,
)
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
    from rankotom_edge.cli.predictions import Source


def drift(
    reference: Annotated[
        str, typer.Argument(metavar="A", help=f"The reference: {MODEL_HELP}; or {PREDICTIONS_HELP}")
    ],
    candidate: Annotated[
        str, typer.Argument(metavar="B", help="The candidate: the same faces in the same order.")
    ],
    json: JsonTarget = None,
    plot: PlotTarget = None,
    ece_limit: EceLimit = None,
    aece_limit: AeceLimit = None,
    accuracy_limit: AccuracyLimit = None,
    flips_limit: FlipsLimit = None,
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
    from calib.drift import judge, measure_drift
    from calib.reports.terminal import drift_report

    limits = chosen_limits(ece_limit, aece_limit, accuracy_limit, flips_limit)
    choice = FacesChoice(dataset, data, split, half)
    choice.check_needed(reference, candidate)
    check_outputs(json, plot)
    before, after = predictions_from(reference, choice), predictions_from(candidate, choice)
    latency_ms = None
    if before.artifact is not None and after.artifact is not None:
        from rankotom_edge.model.latency import compare_artifact_latency

        with working("taking the time of both, in turns"):
            latency_ms = compare_artifact_latency(before.artifact, after.artifact)
    with working(f"resampling {len(before.predictions):,} pairs of predictions"):
        measured = measure_drift(
            before.predictions,
            after.predictions,
            reference_model=before.model,
            candidate_model=after.model,
            reference_temperature=before.temperature,
            candidate_temperature=after.temperature,
            size_ratio=size_ratio(before, after),
            latency_ms=latency_ms,
            resamples=resamples,
            seed=seed,
        )
    verdict = judge(measured, limits)
    faces = before.faces or after.faces
    titled = titled_drift(measured, (reference, candidate), None if faces is None else faces.name)
    caveats = dict.fromkeys((*before.caveats, *after.caveats))
    show(drift_report(titled, verdict, limits), json, caveats)
    if json is not None:
        data_used = None if faces is None else faces.as_json()
        write_json(json, {**measured.as_json(verdict), "data": data_used})
    if plot is not None:
        from calib.reports.plots import plot_drift

        plot_drift(titled, verdict, limits, plot)
    if not verdict.passed:
        raise typer.Exit(1)


def size_ratio(before: "Source", after: "Source") -> float | None:
    if before.artifact is None or after.artifact is None:
        return None
    return after.artifact.bytes / before.artifact.bytes


def titled_drift(drift: "Drift", given: tuple[str, str], faces: str | None) -> "Drift":
    """Two models of one name are told apart by the paths they were given as."""
    from dataclasses import replace

    from calib.reports.wording import model_name

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
