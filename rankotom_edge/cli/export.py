"""``rankotom-edge export``: a run as a model file, and a model file made smaller or an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.drift_limits import (
    AccuracyLimit,
    AeceLimit,
    EceLimit,
    FlipsLimit,
    chosen_limits,
)
from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.output import (
    JsonTarget,
    PlotTarget,
    Resamples,
    Seed,
    check_outputs,
    show,
    write_json,
)
from rankotom_edge.cli.predictions import FACES, DataOption
from rankotom_edge.model.embedded import FP32, INT8_S8S8

CHECKPOINT = "checkpoint.safetensors"
SMALLER = "A smaller file"


class TargetName(str, Enum):
    x86 = "x86"
    arm = "arm"
    tensorrt = "tensorrt"


def export(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help=(
                "A training run, to make the FP32 file of; or a model ([bold].onnx[/] file or "
                rf"embedded name), to make smaller. [dim]\[default: {FP32}, or {INT8_S8S8} for "
                "--tensorrt alone][/]"
            ),
            show_default=False,
        ),
    ] = None,
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Quantize to bytes.", rich_help_panel=SMALLER),
    ] = False,
    fp16: Annotated[
        bool,
        typer.Option("--fp16", help="Halve the floats, for a GPU.", rich_help_panel=SMALLER),
    ] = False,
    tensorrt: Annotated[
        bool,
        typer.Option("--tensorrt", help="Build the engine of this GPU.", rich_help_panel=SMALLER),
    ] = False,
    target: Annotated[
        TargetName | None,
        typer.Option(
            metavar="NAME",
            help="What it is for: x86, arm or tensorrt. [dim]\\[default: what this machine is][/]",
            show_default=False,
            rich_help_panel=SMALLER,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.onnx",
            help=(
                "The file to write; the model is named so. "
                r"[dim]\[default: here, by the parent's name][/]"
            ),
            show_default=False,
        ),
    ] = None,
    allow_slower: Annotated[
        bool,
        typer.Option(
            "--allow-slower", help="Even if it is slower than FP32 here.", rich_help_panel=SMALLER
        ),
    ] = False,
    keep_rejected: Annotated[
        bool,
        typer.Option(
            "--keep-rejected",
            help="Keep what the gate turned down, as NAME.rejected.onnx.",
            rich_help_panel=SMALLER,
        ),
    ] = False,
    mirror: Annotated[
        bool,
        typer.Option(
            "--mirror/--no-mirror",
            help="Of a run: see each face mirrored too: surer, in twice the time.",
        ),
    ] = True,
    json: JsonTarget = None,
    plot: PlotTarget = None,
    ece_limit: EceLimit = None,
    aece_limit: AeceLimit = None,
    accuracy_limit: AccuracyLimit = None,
    flips_limit: FlipsLimit = None,
    data: DataOption = None,
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|SESSION",
            help=(
                "Instead: a folder of face photos, or a session with video. Agreement with FP32 "
                "is checked, and ECE is not."
            ),
            rich_help_panel=FACES,
        ),
    ] = None,
    resamples: Resamples = 1000,
    seed: Seed = 0,
) -> None:
    """The file that runs on the device, and what it cost in confidence.
    [dim]rankotom-edge export --int8[/]

    A run becomes one FP32 file that answers as torch does. [bold]--int8[/] and
    [bold]--fp16[/] make that smaller, without torch, and print the calibration drift.
    Where the gate says no, the guilty layers are found and restored to FP32;
    where that does not help either, there is no file and the exit status is 1.
    """
    if int8 and fp16:
        raise typer.BadParameter("give --int8 or --fp16, not both")
    if output is not None and output.suffix != ".onnx":
        raise RankotomError(f"A model file ends in .onnx, and {output} does not.")
    smaller = int8 or fp16
    given = {
        "--target": target is not None,
        "--output": output is not None,
        "--allow-slower": allow_slower,
        "--keep-rejected": keep_rejected,
        "--no-mirror": not mirror,
        "--plot": plot is not None,
        "--ece-limit": ece_limit is not None,
        "--aece-limit": aece_limit is not None,
        "--accuracy-limit": accuracy_limit is not None,
        "--flips-limit": flips_limit is not None,
        "--data": data is not None,
        "--unlabelled": unlabelled is not None,
    }
    if not (smaller or tensorrt):
        leave_out(given, "of a training run", but=("--output", "--no-mirror", "--data"))
        _export_run(model, output, data, mirror, json)
        return
    if model is not None and (Path(model).is_dir() or model.endswith(".safetensors")):
        raise RankotomError(
            f"{model} is a training run. Make its FP32 file first, with rankotom-edge export "
            f"{model} -o FP32.onnx, and give that."
        )
    if not smaller:
        leave_out(given, "of an engine alone", but=())
        check_outputs(json)
        engine = _build_engine(model or INT8_S8S8)
        if json is None:
            _show_engine(engine)
        else:
            write_json(json, engine)
        return
    pointless = {"--no-mirror"} | ({"--target"} if fp16 else set())
    if unlabelled is not None:
        pointless |= {"--data", "--plot", "--ece-limit", "--aece-limit", "--accuracy-limit"}
    leave_out(
        given,
        "of half floats" if fp16 else "without labels" if unlabelled else "of bytes",
        but=given.keys() - pointless,
    )

    from rankotom_edge.cli.quantize import Wish, make_smaller
    from rankotom_edge.model.machine import this_machine

    if tensorrt:
        from rankotom_edge.model.tensorrt_engine import this_device

        if target not in (None, TargetName.tensorrt):
            raise typer.BadParameter(
                "--tensorrt builds from a model for tensorrt; leave out --target"
            )
        this_device()  # what is missing for the engine is better told before the work
    wish = Wish(
        model=model or FP32,
        precision="int8" if int8 else "fp16",
        target="tensorrt" if tensorrt or fp16 else target.value if target else this_machine(),
        output=output,
        limits=chosen_limits(ece_limit, aece_limit, accuracy_limit, flips_limit),
        allow_slower=allow_slower,
        keep_rejected=keep_rejected,
        data=data,
        unlabelled=unlabelled,
        resamples=resamples,
        seed=seed,
    )
    written, document = make_smaller(wish, json, plot)
    try:
        if tensorrt and written is not None:
            document["engine"] = _build_engine(str(written))
    finally:  # the file is there, whatever becomes of its engine
        if json is not None:
            write_json(json, document)
    if json is None and "engine" in document:
        _show_engine(document["engine"])
    if written is None:
        raise typer.Exit(1)


def leave_out(given: Mapping[str, bool], what: str, *, but: Iterable[str]) -> None:
    """To pass over in silence what was asked for would mislead."""
    pointless = [name for name, is_given in given.items() if is_given and name not in set(but)]
    if pointless:
        raise typer.BadParameter(f"an export {what} has no use for {' and '.join(pointless)}")


def _export_run(
    model: str | None, output: Path | None, data: Path | None, mirror: bool, json: str | None
) -> None:
    from rich.console import Group

    from calib.reports.widgets import note
    from rankotom_edge.cli.models import card_report

    if model is None:
        raise typer.BadParameter("give the folder of a training run, or --int8, --fp16, --tensorrt")
    run = Path(model)
    if not run.exists():
        raise RankotomError(
            f"There is no training run {model}. To make a model smaller, say how: --int8 or --fp16."
        )
    if run.suffix == ".onnx":
        raise RankotomError(f"{model} is a model file already. Make it smaller with --int8.")
    if output is None:
        raise typer.BadParameter("say where to: --output FILE.onnx")
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


def _build_engine(model: str) -> dict[str, Any]:
    from export.tensorrt.build import build_engine
    from rankotom_edge.model.artifact import load_artifact

    artifact = load_artifact(model)
    built = build_engine(artifact)
    return {
        "engine": str(built.path),
        "device": asdict(built.device),
        "difference": built.difference,
        "use": artifact.spoken_name,
        "model": artifact.summary(),
    }


def _show_engine(engine: Mapping[str, Any]) -> None:
    device = engine["device"]
    typer.echo(f"engine       {engine['engine']}")
    typer.echo(f"for          TensorRT {device['tensorrt']} on {device['gpu']}")
    typer.echo(f"agreement    probabilities within {engine['difference']:.2g} of ONNX Runtime's")
    typer.echo(f"to use it    rankotom-edge camera --model {engine['use']}")
