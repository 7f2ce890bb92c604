"""``rankotom-edge export``: a run as a model file; a model file in INT8, FP16 or TensorRT."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.drift_limits import LimitOptions
from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.option_groups import OUTPUT, given_options
from rankotom_edge.cli.output import (
    BootstrapOptions,
    ReportOptions,
    check_outputs,
    show,
    write_json,
)
from rankotom_edge.cli.predictions import FACES, DataOption
from rankotom_edge.model.embedded import FP32, INT8_S8S8

CHECKPOINT = "checkpoint.safetensors"
SMALLER = "A smaller file"


@dataclass(frozen=True)
class FormatOptions:
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantize to 8-bit integers.", rich_help_panel=SMALLER)
    ] = False
    fp16: Annotated[
        bool,
        typer.Option(
            "--fp16", help="Convert to 16-bit floats, for a GPU.", rich_help_panel=SMALLER
        ),
    ] = False
    tensorrt: Annotated[
        bool,
        typer.Option(
            "--tensorrt", help="Build a TensorRT engine for this GPU.", rich_help_panel=SMALLER
        ),
    ] = False


@dataclass(frozen=True)
class GateOptions:
    target: Annotated[
        Literal["x86", "arm", "tensorrt"] | None,
        typer.Option(
            metavar="NAME",
            help=(
                "What the file is for: x86, arm or tensorrt. "
                r"[dim]\[default: this machine's kind][/]"
            ),
            show_default=False,
            rich_help_panel=SMALLER,
        ),
    ] = None
    allow_slower: Annotated[
        bool,
        typer.Option(
            "--allow-slower",
            help="Accept a file that is slower here than FP32.",
            rich_help_panel=SMALLER,
        ),
    ] = False
    keep_rejected: Annotated[
        bool,
        typer.Option(
            "--keep-rejected",
            help="Keep a file that the gate rejected, as NAME.rejected.onnx.",
            rich_help_panel=SMALLER,
        ),
    ] = False


@dataclass(frozen=True)
class CalibrationFacesOptions:
    data: DataOption = None
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|SESSION",
            help=(
                "Instead of a data set: a folder of face photos, or a session with video. The gate "
                "then checks agreement with FP32, but not ECE."
            ),
            rich_help_panel=FACES,
        ),
    ] = None


def export(
    *,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help=(
                "A training run, to write as an FP32 file; or a model ([bold].onnx[/] file or "
                rf"embedded name), to make smaller. [dim]\[default: {FP32}, or {INT8_S8S8} for "
                "--tensorrt alone][/]"
            ),
            show_default=False,
        ),
    ] = None,
    format_: FormatOptions,
    gate: GateOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.onnx",
            help=(
                "The file to write, which also names the model. "
                r"[dim]\[default: in this folder, named after MODEL][/]"
            ),
            show_default=False,
        ),
        OUTPUT,
    ] = None,
    mirror: Annotated[
        bool,
        typer.Option(
            "--mirror/--no-mirror",
            help="For a run: average each face with its mirror image; surer, but twice as slow.",
        ),
    ] = True,
    report: ReportOptions,
    limit: LimitOptions,
    faces: CalibrationFacesOptions,
    bootstrap: BootstrapOptions,
) -> None:
    """Make the file that runs on the device, and measure its drift.
    [dim]rankotom-edge export --int8[/]

    A run becomes an FP32 file that answers as torch does. [bold]--int8[/] and [bold]--fp16[/]
    make a model smaller, without torch, and print the calibration drift. If
    the gate rejects the result, the layers that caused it go back to FP32; if
    that does not help, no file is written and the exit status is 1.
    """
    if format_.int8 and format_.fp16:
        raise typer.BadParameter("give --int8 or --fp16, not both")
    if output is not None and output.suffix != ".onnx":
        raise RankotomError(f"The name of a model file ends in .onnx; {output} does not.")
    smaller = format_.int8 or format_.fp16
    given = [name for group in (gate, limit, faces) for name in given_options(group)]
    given += [] if output is None else ["--output"]
    given += [] if mirror else ["--no-mirror"]
    given += [] if report.plot is None else ["--plot"]
    if not (smaller or format_.tensorrt):
        allowed = ("--output", "--no-mirror", "--data")
        refuse("an export of a training run", set(given) - set(allowed))
        _export_run(model, output, faces.data, mirror, report.json)
        return
    if model is not None and (Path(model).is_dir() or model.endswith(".safetensors")):
        raise RankotomError(
            f"{model} is a training run. Write its FP32 file first, with rankotom-edge export "
            f"{model} -o FP32.onnx, and name that."
        )
    if not smaller:
        refuse("an export of an engine alone", given)
        check_outputs(report.json)
        engine = _build_engine(model or INT8_S8S8)
        if report.json is None:
            _show_engine(engine)
        else:
            write_json(report.json, engine)
        return
    refuse("an INT8 or FP16 export", {"--no-mirror"} & set(given))
    if format_.fp16:
        refuse("an FP16 export", {"--target"} & set(given))
    if faces.unlabelled is not None:
        labelled = {"--data", "--plot", "--ece-limit", "--aece-limit", "--accuracy-limit"}
        refuse("an export without labels", labelled & set(given))

    from rankotom_edge.cli.quantize import QuantizeRequest, make_smaller
    from rankotom_edge.model.target import this_machine

    if format_.tensorrt:
        from rankotom_edge.model.tensorrt_engine import this_device

        if gate.target not in (None, "tensorrt"):
            raise typer.BadParameter(
                "--tensorrt builds from a model for tensorrt; leave out --target"
            )
        this_device()  # raises before the work if the engine cannot be built here
    request = QuantizeRequest(
        model=model or FP32,
        precision="int8" if format_.int8 else "fp16",
        target="tensorrt" if format_.tensorrt or format_.fp16 else gate.target or this_machine(),
        output=output,
        limits=limit.limits(),
        gate=gate,
        faces=faces,
        bootstrap=bootstrap,
    )
    written, document = make_smaller(request, report.json, report.plot)
    try:
        if format_.tensorrt and written is not None:
            document["engine"] = _build_engine(str(written))
    finally:  # the model file exists even if its engine cannot be built
        if report.json is not None:
            write_json(report.json, document)
    if report.json is None and "engine" in document:
        _show_engine(document["engine"])
    if written is None:
        raise typer.Exit(1)


def refuse(what: str, options: Collection[str]) -> None:
    """Options that would have no effect are an error: the user expects one."""
    if options:
        raise typer.BadParameter(f"{what} has no use for {' and '.join(sorted(options))}")


def _export_run(
    model: str | None, output: Path | None, data: Path | None, mirror: bool, json: str | None
) -> None:
    from rich.console import Group

    from calib.reports.widgets import note
    from rankotom_edge.cli.model_report import card_report

    if model is None:
        raise typer.BadParameter(
            "name the folder of a training run, or add --int8, --fp16 or --tensorrt"
        )
    run = Path(model)
    if not run.exists():
        raise RankotomError(
            f"There is no training run {model}. To make a model smaller, add --int8 or --fp16."
        )
    if run.suffix == ".onnx":
        raise RankotomError(f"{model} is a model file already. Make it smaller with --int8.")
    if output is None:
        raise typer.BadParameter("name the file to write: --output FILE.onnx")
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
        "use": artifact.cli_name,
        "model": artifact.summary(),
    }


def _show_engine(engine: Mapping[str, Any]) -> None:
    device = engine["device"]
    typer.echo(f"engine       {engine['engine']}")
    typer.echo(f"for          TensorRT {device['tensorrt']} on {device['gpu']}")
    typer.echo(f"agreement    probabilities within {engine['difference']:.2g} of ONNX Runtime's")
    typer.echo(f"to use it    rankotom-edge camera --model {engine['use']}")
