"""``rankotom-edge doctor``: what this machine can do, each line tried for real."""

from __future__ import annotations

import platform
import sys
from typing import Annotated

import typer

from rankotom_edge.cli.output import JsonTarget, check_outputs, show, write_json
from rankotom_edge.doctor.subprocess_check import PATIENCE


def doctor(
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Try this one too, as [bold]camera[/] would take it: csi://0, rtsp://…, a file.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.01, metavar="SECONDS", help="How long one line may take.")
    ] = PATIENCE,
    json: JsonTarget = None,
) -> None:
    """What this machine can do, each line tried for real and timed.
    [dim]rankotom-edge doctor --source csi://0[/]

    A face is read with the default model, a frame from each camera, an
    inference run by each provider. What is missing comes with the command
    that mends it. Exit status 1 where faces could not be read. No network;
    nothing is written.
    """
    from rich.console import Console

    from rankotom_edge.doctor import examine, healthy
    from rankotom_edge.doctor.check_list import rounds_with
    from rankotom_edge.doctor.report import doctor_report

    check_outputs(json)
    with Console(stderr=True, quiet=not sys.stderr.isatty()).status("looking around") as spinner:
        found = {
            name: tuple(examine(trials, timeout, lambda trial: spinner.update(f"trying {trial}")))
            for name, trials in rounds_with(source).items()
        }
    checks = [check for group in found.values() for check in group]
    show(doctor_report(f"{platform.system()} {platform.release()}", found), json)
    if json is not None:
        write_json(json, {"ok": healthy(checks), "checks": [check.as_json() for check in checks]})
    if not healthy(checks):
        raise typer.Exit(1)
