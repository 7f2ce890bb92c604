"""Model cards as terminal reports: a table of all, or one in full."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from calib.evaluation import METRICS, Evaluation
from calib.reports.number_text import NAMES, interval_text, percent, points, value_text
from calib.reports.widgets import FAINT, heading, note, plain_table, title
from calib.temperature import at_bound
from rankotom_edge.model.artifact import Artifact

SHOWN_METRICS = [name for name in METRICS if name not in ("classwise_ece", "vote_distance")]


def overview(artifacts: list[Artifact]) -> RenderableType:
    if not artifacts:
        return note("No model is embedded here. Make one with: rankotom-edge export")
    left, right = ("model", "precision", "for"), ("size", "accuracy", "ECE", "AECE")
    table = plain_table(*((name, "left") for name in left), *((name, "right") for name in right))
    table.columns[0].no_wrap = True
    for artifact in artifacts:
        card = artifact.card
        metrics = card.evaluation.metrics
        table.add_row(
            card.name,
            card.precision,
            ", ".join(card.targets) or "any",
            megabytes(artifact.bytes),
            percent(metrics["accuracy"].value),
            percent(metrics["ece"].value, 2),
            percent(metrics["aece"].value, 2),
        )
    used = dict.fromkeys(artifact.card.measured_on for artifact in artifacts)
    measured = "; ".join(f"{faces.name}, {faces.count:,} faces" for faces in used)
    return Group(
        table,
        note(f"Measured on {measured}."),
        note("Details of a model: rankotom-edge models NAME"),
    )


def card_report(artifact: Artifact) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style=FAINT, no_wrap=True)
    rows.add_column(overflow="fold")
    for name, words in card_rows(artifact):
        rows.add_row(name, words)
    card = artifact.card
    return Group(
        title(card.name, f"{card.precision}, {megabytes(artifact.bytes)}"),
        rows,
        heading(f"On {card.measured_on.name}, {card.measured_on.count:,} faces"),
        _metrics_table(card.evaluation),
    )


def recipe_words(recipe: Mapping[str, Any]) -> str:
    """The recipe's name, and the runs if the weights are the mean of several."""
    name, runs = str(recipe.get("name", "unnamed")), recipe.get("runs", ())
    return f"{name}, the mean of {', '.join(str(run['name']) for run in runs)}" if runs else name


def card_rows(artifact: Artifact) -> list[tuple[str, str]]:
    card, crop = artifact.card, artifact.card.crop
    colour = "grey" if crop.channels == 1 else "RGB"
    bound = ", the bound of its fit: not calibrated" if at_bound(card.temperature) else ""
    mirrored = ", each with its mirror image" if card.mirror else ""
    framing = ", ".join(
        f"{place.replace('_', ' ')} {x:.3f} {y:.3f}"
        for place, (x, y) in crop.framing.as_json().items()
    )
    return [
        ("file", str(artifact.path)),
        ("sha256", artifact.sha256),
        ("made from", card.parent),
        ("made by", card.created_by),
        ("recipe", recipe_words(card.recipe)),
        ("faces", f"{colour}, {crop.size} x {crop.size} pixels{mirrored}"),
        ("framing", framing),
        ("labels", ", ".join(card.labels)),
        ("temperature", f"{card.temperature:.4f}{bound}"),
        ("offsets", " ".join(f"{each:+.2f}" for each in card.offsets) or "none"),
        (
            "calibrated on",
            "; ".join(f"{used.name}, {used.count:,} faces" for used in card.calibrated_on),
        ),
        *quantization_rows(artifact),
        ("use", card.licence),
    ]


def quantization_rows(artifact: Artifact) -> list[tuple[str, str]]:
    """How the model was quantized and what that cost; empty for an FP32 model."""
    card = artifact.card
    rows = [("made for", " and ".join(card.targets))] if card.targets else []
    if card.quantization.get("calibration"):
        rows.append(("ranges by", str(card.quantization["calibration"])))
    if card.layers_in_fp32:
        rows.append(("in FP32", ", ".join(card.layers_in_fp32)))
    if change := card.quantization.get("change"):
        rows.append(
            (
                "its cost",
                f"accuracy {points(change['accuracy'])}, ECE {points(change['ece'], 2)}, AECE "
                f"{points(change['aece'], 2)} points against its parent; "
                f"{percent(change['flips'])} of the faces changed their expression",
            )
        )
    if card.quantization.get("ece_checked") is False:
        judged = card.quantization["judged_on"]
        rows.append(
            (
                "not checked",
                f"ECE: it agrees with its parent on {judged['count']:,} faces of {judged['name']} "
                "without labels, and the metrics below are the parent's",
            )
        )
    return rows


def _metrics_table(evaluation: Evaluation) -> RenderableType:
    table = plain_table(
        ("", "left"), ("value", "right"), ("95 % interval", "right"), ("floor, 95 %", "right")
    )
    for name in SHOWN_METRICS:
        metric = evaluation.metrics[name]
        if metric.value is None:
            continue
        words, digits = NAMES[name]
        table.add_row(
            words,
            value_text(metric.value, digits),
            interval_text(metric.interval, digits),
            "" if metric.floor is None else value_text(metric.floor.p95, digits),
        )
    return table


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
