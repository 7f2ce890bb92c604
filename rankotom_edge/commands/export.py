"""``rankotom-edge export``: from a training run to the model file."""

from pathlib import Path
from typing import Annotated

import typer

from rankotom_edge.commands.extras import extra
from rankotom_edge.commands.output import JsonTarget, check_outputs, show, write_json
from rankotom_edge.commands.predictions import DataOption

CHECKPOINT = "checkpoint.safetensors"


def export(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder of a training run, or its checkpoint.", exists=True
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE.onnx", help="The file to write; the model is named so."
        ),
    ],
    data: DataOption = None,
    mirror: Annotated[
        bool,
        typer.Option(
            "--mirror/--no-mirror",
            help="See each face mirrored too: surer, in twice the time.",
        ),
    ] = True,
    json: JsonTarget = None,
) -> None:
    """A training run as one ONNX file that runs anywhere, without torch.
    [dim]rankotom-edge export runs/edge-ferplus-seed0 -o ferplus-fp32.onnx[/]

    The temperature is fitted on one half of the valid faces and the figures
    are of the other. The file is kept only if it answers as torch does.
    """
    from rich.console import Group

    from calib.errors import RankotomError
    from calib.layout import note
    from rankotom_edge.commands.models import card_report

    if output.suffix != ".onnx":
        raise RankotomError(f"A model file ends in .onnx, and {output} does not.")
    check_outputs(json, others=[output])
    with extra("train"):
        from export.to_onnx import export_checkpoint

    checkpoint = run / CHECKPOINT if run.is_dir() else run
    exported = export_checkpoint(checkpoint, output, data=data, mirror=mirror)
    agreement = note(f"Logits agree with torch within {exported.parity:.1g} on real faces.")
    caveats = [exported.caveat] if exported.caveat else []
    show(Group(card_report(exported.artifact), agreement), json, caveats)
    if json is not None:
        write_json(json, {**exported.artifact.as_json(), "parity": exported.parity})
