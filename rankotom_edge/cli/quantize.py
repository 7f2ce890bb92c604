"""``export --int8`` and ``--fp16``: the faces, the judge, the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calib.errors import RankotomError
from rankotom_edge.cli.output import check_outputs, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from calib.limits import Limits
    from export.judges import Judge
    from export.smaller_model import SmallerModel
    from export.steps import Steps
    from rankotom_edge.cli.export import CalibrationFacesOptions, GateOptions
    from rankotom_edge.cli.output import BootstrapOptions
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.target import Target


WHERE_TO_GET: dict[Literal["ferplus", "rafdb", "affectnet"], str] = {
    "ferplus": (
        "Its votes (fer2013new.csv) and a script for its pictures (those of FER2013) are at "
        "github.com/microsoft/FERPlus."
    ),
    "rafdb": "Its authors share it for research.",
    "affectnet": "Its authors share it for research.",
}


@dataclass(frozen=True)
class QuantizeRequest:
    model: str
    precision: Literal["int8", "fp16"]
    target: Target | None  # None if this machine is neither x86 nor ARM and none was named
    output: Path | None
    limits: Limits
    gate: GateOptions
    faces: CalibrationFacesOptions
    bootstrap: BootstrapOptions


def make_smaller(
    request: QuantizeRequest, json: str | None, plot: Path | None
) -> tuple[Path | None, dict[str, Any]]:
    """The written file, or None if the gate rejected it; and the report as JSON."""
    from export.report import smaller_model_report
    from export.smaller_model import (
        check_parent,
        make_smaller_model,
        planned_steps,
        rejected_path,
    )
    from rankotom_edge.model.artifact import load_artifact

    if request.target is None:
        raise RankotomError("This machine is neither x86 nor ARM; name the target with --target")
    parent = load_artifact(request.model)
    output = request.output or default_output(parent.card.name, request)
    check_parent(parent, output)
    rejected = [rejected_path(output)] if request.gate.keep_rejected else []
    check_outputs(json, plot, [output, *rejected])
    make_judge, notes = read_faces(parent, request)  # has its own bar where it takes long
    running = f"running {parent.card.name}"
    with step_bar() as steps:
        steps.expect({running: 10, **planned_steps(request.precision)})
        steps.begin(running)
        judge = make_judge()
        smaller = make_smaller_model(
            parent,
            judge,
            request.precision,
            request.target,
            output,
            allow_slower=request.gate.allow_slower,
            keep_rejected=request.gate.keep_rejected,
            steps=steps,
        )
    caveats = [smaller.caveat] if smaller.caveat else []
    show(smaller_model_report(smaller, request.limits), json, [*notes, *caveats])
    drift = smaller.judgement.drift
    if plot is not None and drift is not None:
        from calib.reports.drift_plot import plot_drift

        plot_drift(drift, smaller.judgement.verdict, request.limits, plot)
    written = smaller.artifact.path if smaller.passed and smaller.artifact is not None else None
    return written, as_json(smaller)


def default_output(parent: str, request: QuantizeRequest) -> Path:
    """``ferplus-fp32`` becomes ``ferplus-int8.onnx``, or ``ferplus-int8-s8s8.onnx``."""
    from export.int8 import U8S8, scheme_for

    stem = parent.removesuffix("-fp32")
    if request.precision == "fp16":
        return Path(f"{stem}-fp16.onnx")
    assert request.target is not None
    scheme = scheme_for(request.target)
    return Path(f"{stem}-int8.onnx" if scheme is U8S8 else f"{stem}-int8-{scheme.name}.onnx")


def read_faces(parent: Artifact, request: QuantizeRequest) -> tuple[Callable[[], Judge], list[str]]:
    """What runs the parent and makes the judge: on labelled faces of a data set, or on any faces by
    agreement with the parent."""
    from export.faces import labelled_faces, unlabelled_faces
    from export.judges import LabelledJudge, UnlabelledJudge
    from rankotom_edge.face_sets.collect import collect_faces
    from train.data.datasets import data_folder, load_dataset, validation_half

    card = parent.card
    if request.faces.unlabelled is not None:
        split = collect_faces(request.faces.unlabelled, card.crop)
        calibration = unlabelled_faces(f"{split.name}/calibrate", split.calibration)
        held_out = unlabelled_faces(f"{split.name}/judge", split.held_out)
        notes = [split.note] if split.note else []
        return partial(
            UnlabelledJudge.of_parent, parent, calibration, held_out, request.limits
        ), notes
    trained_on = str(card.recipe.get("dataset", "ferplus"))
    dataset = next((name for name in WHERE_TO_GET if name == trained_on), None)
    if dataset is None:
        raise RankotomError(
            f"{card.name} was trained on {trained_on}, whose validation faces cannot be read here; "
            "use --unlabelled DIR."
        )
    try:
        valid = load_dataset(dataset, data_folder(request.faces.data), "valid", check_count=False)
    except RankotomError as error:
        raise RankotomError(
            f"{error} {WHERE_TO_GET[dataset]} Without it, --unlabelled DIR (a folder of face "
            "photos, or a recorded session) quantizes and checks agreement with FP32, but not ECE."
        ) from error
    cache = data_folder(None) / "framed"
    choose, report = (
        labelled_faces(validation_half(valid, which), card.crop, card.labels, cache)
        for which in ("choose", "report")
    )
    bootstrap = request.bootstrap
    return partial(
        LabelledJudge.of_parent,
        *(parent, choose, report, request.limits, bootstrap.resamples, bootstrap.seed),
    ), []


@contextmanager
def step_bar() -> Iterator[Steps]:
    """One bar over all steps, on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.live import Live

    from export.steps import Steps

    console, steps = Console(stderr=True, markup=False), Steps()
    if not console.is_terminal:
        yield steps
        return
    with Live(console=console, transient=True, get_renderable=lambda: step_line(steps)):
        yield steps


def step_line(steps: Steps) -> RenderableType:
    """The number of the step, what it does, how much is done, and the time left."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    line = Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=1, completed=steps.share, width=24)
    number = f"step {steps.number} of {steps.count}"
    line.add_row(number, bar, time_words(steps.seconds_left), steps.words)
    return line


def time_words(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.0f} s left" if seconds < 90 else f"{seconds / 60:.0f} min left"


def as_json(smaller: SmallerModel) -> dict[str, Any]:
    """The drift or the agreement, and under ``export`` how the file was made."""
    judgement, result = smaller.judgement, smaller.search.gate_result
    if judgement.drift is not None:
        document = judgement.drift.as_json(judgement.verdict)
    else:
        assert judgement.agreement is not None
        document = judgement.agreement.as_json() | {
            "size_ratio": result.size_ratio,
            "latency_ratio": result.latencies.ratio,
            "verdict": judgement.verdict.as_json(),
        }
    data = smaller.card.quantization["judged_on"]
    return {**document, "data": data, "export": smaller.as_json()}
