"""``export --int8`` and ``--fp16``: the faces, the judge, and what is shown and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calib.errors import RankotomError
from rankotom_edge.cli.output import check_outputs, show
from rankotom_edge.cli.predictions import Dataset

if TYPE_CHECKING:
    from calib.limits import Limits
    from export.judges import Judge
    from export.smaller_model import Shrunk
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.machine import Target


WHERE_TO_GET = {
    Dataset.ferplus: (
        "Its votes (fer2013new.csv) and a script for its pictures, which are FER2013's, are at "
        "github.com/microsoft/FERPlus."
    ),
    Dataset.rafdb: "Its authors give it out for research.",
    Dataset.affectnet: "Its authors give it out for research.",
}


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    model: str
    precision: Literal["int8", "fp16"]
    target: Target | None  # None on a machine that is neither
    output: Path | None
    limits: Limits
    allow_slower: bool
    keep_rejected: bool
    data: Path | None
    unlabelled: Path | None
    resamples: int
    seed: int


def make_smaller(
    wish: Wish, json: str | None, plot: Path | None
) -> tuple[Path | None, dict[str, Any]]:
    """The file that was written, or None where the gate said no; and the report as JSON."""
    from export.report import shrunk_report
    from export.smaller_model import check_parent, rejected_path, shrink, uncalibrated
    from rankotom_edge.model.artifact import load_artifact

    if wish.target is None:
        raise RankotomError("This machine is neither x86 nor ARM; say what it is for: --target")
    parent = load_artifact(wish.model)
    output = wish.output or default_output(parent.card.name, wish)
    check_parent(parent, output)
    rejected = [rejected_path(output)] if wish.keep_rejected else []
    check_outputs(json, plot, [output, *rejected])
    judge, notes = judge_for(parent, wish)
    with told() as say:
        shrunk = shrink(
            parent,
            judge,
            wish.precision,
            wish.target,
            output,
            allow_slower=wish.allow_slower,
            keep_rejected=wish.keep_rejected,
            say=say,
        )
    caveat = uncalibrated(shrunk)
    show(shrunk_report(shrunk, wish.limits), json, [*notes, *([caveat] if caveat else [])])
    drift = shrunk.judged.drift
    if plot is not None and drift is not None:
        from calib.reports.plots import plot_drift

        plot_drift(drift, shrunk.judged.verdict, wish.limits, plot)
    written = shrunk.artifact.path if shrunk.passed and shrunk.artifact is not None else None
    return written, as_json(shrunk)


def default_output(parent: str, wish: Wish) -> Path:
    """``ferplus-fp32`` becomes ``ferplus-int8.onnx``, or ``ferplus-int8-s8s8.onnx``."""
    from export.int8 import U8S8, scheme_for

    stem = parent.removesuffix("-fp32")
    if wish.precision == "fp16":
        return Path(f"{stem}-fp16.onnx")
    assert wish.target is not None
    scheme = scheme_for(wish.target)
    return Path(f"{stem}-int8.onnx" if scheme is U8S8 else f"{stem}-int8-{scheme.name}.onnx")


def judge_for(parent: Artifact, wish: Wish) -> tuple[Judge, list[str]]:
    """With the labels of a data set, or on any faces by what the parent says of them."""
    from export.judges import WithLabels, WithoutLabels, check_enough, check_known_faces
    from export.predict import answers, labelled_faces, predict
    from export.unlabelled import unlabelled_faces
    from rankotom_edge.model.artifact import PROBABILITIES
    from rankotom_edge.model.onnx_runtime import open_session
    from train.data.datasets import data_folder, load_dataset, validation_half

    card = parent.card
    if wish.unlabelled is not None:
        faces = unlabelled_faces(wish.unlabelled, card.crop)
        session = open_session(parent.path)
        choosing, judging = (
            answers(session, pixels, (PROBABILITIES,), f"asking {card.name}")[0].astype(float)
            for pixels in (faces.calibrate, faces.judge)
        )
        notes = [faces.note] if faces.note else []
        return WithoutLabels(faces, choosing, judging, card.labels, wish.limits), notes
    known = {dataset.value: dataset for dataset in Dataset}
    dataset = known.get(str(card.recipe.get("dataset", "ferplus")))
    if dataset is None:
        raise RankotomError(
            f"{card.name} was trained on {card.recipe['dataset']}, of which no valid faces can be "
            "read here; use --unlabelled DIR."
        )
    try:
        valid = load_dataset(dataset.value, data_folder(wish.data), "valid", check_count=False)
    except RankotomError as error:
        raise RankotomError(
            f"{error} {WHERE_TO_GET[dataset]} Without it, --unlabelled DIR (a folder of face "
            "photos, or a recorded session) quantizes and checks agreement with FP32, though not "
            "ECE."
        ) from error
    cache = data_folder(None) / "framed"
    choose, report = (
        labelled_faces(validation_half(valid, which), card.crop, card.labels, cache)
        for which in ("choose", "report")
    )
    check_enough(choose.used, report.used)
    chosen, reported = predict(parent, choose), predict(parent, report)
    check_known_faces(card, chosen, choose.used)
    judge = WithLabels(choose, report, chosen, reported, wish.limits, wish.resamples, wish.seed)
    return judge, []


def as_json(shrunk: Shrunk) -> dict[str, Any]:
    """A drift's document, or an agreement's, and beside it how the file was made."""
    judged = shrunk.judged
    if judged.drift is not None:
        document = judged.drift.as_json(judged.verdict)
    else:
        assert judged.agreement is not None
        latencies = shrunk.made.weighed.latencies
        document = judged.agreement.as_json() | {
            "size_ratio": shrunk.made.weighed.size_ratio,
            "latency_ratio": latencies.ratio,
            "verdict": judged.verdict.as_json(),
        }
    data = shrunk.card.quantization["judged_on"]
    return {**document, "data": data, "export": shrunk.as_json()}


@contextmanager
def told() -> Iterator[Callable[[str], None]]:
    """What is being done, on standard error while someone watches."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda words: None
        return
    with console.status("") as status:
        yield status.update
