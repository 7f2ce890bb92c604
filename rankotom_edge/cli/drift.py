"""``rankotom-edge drift``: two models compared on the same faces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.drift_limits import LimitOptions
from rankotom_edge.cli.output import (
    BootstrapOptions,
    ReportOptions,
    check_outputs,
    progress,
    show,
    write_json,
)
from rankotom_edge.cli.predictions import (
    MODEL_HELP,
    PREDICTIONS_HELP,
    FacesOptions,
    load_predictions,
    with_title,
)

if TYPE_CHECKING:
    from calib.drift import Drift


def drift(
    *,
    reference: Annotated[
        str, typer.Argument(metavar="A", help=f"The reference: {MODEL_HELP}; or {PREDICTIONS_HELP}")
    ],
    candidate: Annotated[
        str, typer.Argument(metavar="B", help="The candidate: the same faces in the same order.")
    ],
    report: ReportOptions,
    limit: LimitOptions,
    faces: FacesOptions,
    bootstrap: BootstrapOptions,
) -> None:
    """What a smaller or newer model costs, measured on the same faces.
    [dim]rankotom-edge drift fp32.npz int8.npz --flips-limit 1%[/]

    Both models side by side, each change with its paired 95 % interval, and
    which emotions got worse. Exit status 1 if a change is over its limit.
    """
    from calib.drift import judge, measure_drift
    from calib.reports.terminal import drift_report

    limits = limit.limits()
    faces.check_needed(reference, candidate)
    check_outputs(report.json, report.plot)
    before, after = load_predictions(reference, faces), load_predictions(candidate, faces)
    latency_ms = size_ratio = None
    if before.artifact is not None and after.artifact is not None:
        from rankotom_edge.model.latency import compare_artifact_latency

        size_ratio = after.artifact.bytes / before.artifact.bytes
        with progress("timing both models"):
            latency_ms = compare_artifact_latency(before.artifact, after.artifact)
    with progress(f"resampling {len(before.predictions):,} pairs of predictions"):
        measured = measure_drift(
            before.predictions,
            after.predictions,
            models=(before.model, after.model),
            temperatures=(before.temperature, after.temperature),
            size_ratio=size_ratio,
            latency_ms=latency_ms,
            resamples=bootstrap.resamples,
            seed=bootstrap.seed,
        )
    verdict = judge(measured, limits)
    used = before.faces or after.faces
    titled = with_titles(measured, (reference, candidate), None if used is None else used.name)
    caveats = dict.fromkeys((*before.caveats, *after.caveats))
    show(drift_report(titled, verdict, limits), report.json, caveats)
    if report.json is not None:
        data = None if used is None else used.as_json()
        write_json(report.json, {**measured.as_json(verdict), "data": data})
    if report.plot is not None:
        from calib.reports.drift_plot import plot_drift

        plot_drift(titled, verdict, limits, report.plot)
    if not verdict.passed:
        raise typer.Exit(1)


def with_titles(drift: Drift, paths: tuple[str, str], faces: str | None) -> Drift:
    """Titles for the report: the models' names, or their paths if the names are the same."""
    from calib.reports.wording import model_name

    before, after = model_name(drift.reference), model_name(drift.candidate)
    if before == after:
        before, after = paths
    if faces is not None:
        after = f"{after} on {faces}"
    return replace(
        drift,
        reference=with_title(drift.reference, before),
        candidate=with_title(drift.candidate, after),
    )
