"""``rankotom-edge doctor``: what this machine can do, by trying it."""

import platform
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.output import JsonTarget, check_outputs, progress, show, write_json
from rankotom_edge.doctor import Finding, Probe
from rankotom_edge.doctor.subprocess_probe import TIMEOUT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankotom_edge.doctor.check import Check

WATCH_SECONDS = 120.0  # a watched run is several times slower
DATA_FIX = "unpack FERPlus there, or name its folder: export RANKOTOM_DATA=DIR"
DATA_SETS = {
    "Data, for evaluate, export and train": (Probe("ferplus", f"{__name__}:ferplus", fix=DATA_FIX),)
}


def doctor(
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Also try this source, named as for [bold]camera[/]: csi://0, rtsp://…, a file.",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(min=0.01, max=3600, metavar="SECONDS", help="The time limit of each check."),
    ] = TIMEOUT,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help=(
                "Instead, watch the system calls of a short run (of --source, or the demo), and "
                "show whether anything left this machine or was written. Needs strace."
            ),
        ),
    ] = False,
    json: JsonTarget = None,
) -> None:
    """Check what this machine can do, by trying and timing everything.
    [dim]rankotom-edge doctor --source csi://0[/]

    Reads a face with the default model and a frame from every camera, and
    runs an inference with every provider. What is missing comes with the
    command that fixes it. Exit status 1 if faces cannot be read. Uses no
    network and writes nothing.
    """
    from rankotom_edge.doctor import run_probes
    from rankotom_edge.doctor.private import private_checks
    from rankotom_edge.doctor.probe_list import list_probes
    from rankotom_edge.doctor.report import doctor_report, private_verdict

    check_outputs(json)
    machine = f"{platform.system()} {platform.release()}"
    if private:
        with progress("watching a run"):
            watched = private_checks(source or "demo", max(timeout, WATCH_SECONDS))
        report = doctor_report(machine, {"Private": watched}, private_verdict)
        finish(watched, report, json)
        return
    with progress("starting") as show_progress:
        sections = {
            title: tuple(run_probes(probes, timeout, lambda name: show_progress(f"trying {name}")))
            for title, probes in (list_probes(source) | DATA_SETS).items()
        }
    checks = [check for group in sections.values() for check in group]
    finish(checks, doctor_report(machine, sections), json)


def finish(checks: "list[Check]", report: "RenderableType", json: str | None) -> None:
    """Exit status 1 if something that is needed failed."""
    from rankotom_edge.doctor import is_healthy

    show(report, json)
    ok = is_healthy(checks)
    if json is not None:
        write_json(json, {"ok": ok, "checks": [check.as_json() for check in checks]})
    if not ok:
        raise typer.Exit(1)


def ferplus(_: str) -> Finding:
    """A probe; it is here because only the command line may import ``train``."""
    from train.data.datasets import Split, data_folder, load_dataset

    folder = data_folder(None)
    splits: tuple[Split, ...] = ("train", "valid")
    counts = [f"{len(load_dataset('ferplus', folder, split)):,} {split}" for split in splits]
    return Finding(True, f"FERPlus in {folder}: {' and '.join(counts)}")
