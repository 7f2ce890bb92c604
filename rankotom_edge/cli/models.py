"""``rankotom-edge models``: the model files at hand and what they say of themselves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankotom_edge.cli.output import JsonTarget, show, write_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from calib.evaluation import Evaluation
    from rankotom_edge.model.artifact import Artifact

SHOWN_FIGURES = ("accuracy", "ece", "aece", "mce", "mce50", "nll", "brier", "top2_match")


def models(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="Models to tell all about: embedded names or [bold].onnx[/] files.",
            show_default=False,
        ),
    ] = None,
    json: JsonTarget = None,
) -> None:
    """The models at hand and what they say of themselves.
    [dim]rankotom-edge models ferplus-fp32[/]

    Without a name, the embedded ones in a table. With one, all that its file
    says: labels, crop, temperature, recipe, data and figures.
    """
    from rich.console import Group

    from rankotom_edge.model.artifact import embedded_models, load_artifact, read_artifact

    if named:
        found = [load_artifact(name) for name in named]
    else:
        found = [read_artifact(path) for path in embedded_models().values()]
    report = Group(*map(card_report, found)) if named else overview(found)
    show(report, json)
    if json is not None:
        write_json(json, {"models": [artifact.as_json() for artifact in found]})


def overview(artifacts: "list[Artifact]") -> "RenderableType":
    from rich.console import Group

    from calib.reports.number_text import percent
    from calib.reports.widgets import note, plain_table

    if not artifacts:
        return note("No model is embedded here. Make one with: rankotom-edge export")
    table = plain_table(
        ("model", "left"),
        ("precision", "left"),
        ("for", "left"),
        ("size", "right"),
        ("accuracy", "right"),
        ("ECE", "right"),
        ("AECE", "right"),
    )
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
        note("All that one says of itself: rankotom-edge models NAME"),
    )


def card_report(artifact: "Artifact") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table

    from calib.reports.widgets import FAINT, heading, title

    facts = Table.grid(padding=(0, 2))
    facts.add_column(style=FAINT, no_wrap=True)
    facts.add_column(overflow="fold")
    for name, words in card_facts(artifact):
        facts.add_row(name, words)
    card = artifact.card
    return Group(
        title(card.name, f"{card.precision}, {megabytes(artifact.bytes)}"),
        facts,
        heading(f"On {card.measured_on.name}, {card.measured_on.count:,} faces"),
        _metrics_table(card.evaluation),
    )


def recipe_words(recipe: Mapping[str, Any]) -> str:
    """Its name, and those of the runs whose mean it is."""
    name, runs = str(recipe.get("name", "unnamed")), recipe.get("runs", ())
    return f"{name}, the mean of {', '.join(str(run['name']) for run in runs)}" if runs else name


def card_facts(artifact: "Artifact") -> list[tuple[str, str]]:
    from calib.temperature import at_bound

    card, crop = artifact.card, artifact.card.crop
    colour = "grey" if crop.channels == 1 else "RGB"
    bound = ", the bound of its fit: not calibrated" if at_bound(card.temperature) else ""
    twice = ", each with its mirror image" if card.mirror else ""
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
        ("faces", f"{colour}, {crop.size} x {crop.size} pixels{twice}"),
        ("framing", framing),
        ("labels", ", ".join(card.labels)),
        ("temperature", f"{card.temperature:.4f}{bound}"),
        ("offsets", " ".join(f"{each:+.2f}" for each in card.offsets) or "none"),
        (
            "calibrated on",
            "; ".join(f"{used.name}, {used.count:,} faces" for used in card.calibrated_on),
        ),
        *quantization_facts(artifact),
        ("use", card.licence),
    ]


def quantization_facts(artifact: "Artifact") -> list[tuple[str, str]]:
    """How it was made small, where it was, and what that cost."""
    from calib.reports.number_text import percent, points

    card = artifact.card
    facts = [("made for", " and ".join(card.targets))] if card.targets else []
    if card.quantization.get("calibration"):
        facts.append(("ranges by", str(card.quantization["calibration"])))
    if card.layers_in_fp32:
        facts.append(("in FP32", ", ".join(card.layers_in_fp32)))
    if change := card.quantization.get("change"):
        facts.append(
            (
                "its cost",
                f"accuracy {points(change['accuracy'])}, ECE {points(change['ece'], 2)}, AECE "
                f"{points(change['aece'], 2)} points against its parent; "
                f"{percent(change['flips'])} of the faces changed their expression",
            )
        )
    if card.quantization.get("ece_checked") is False:
        judged = card.quantization["judged_on"]
        facts.append(
            (
                "not checked",
                f"ECE: it agrees with its parent on {judged['count']:,} faces of {judged['name']} "
                "without labels, and the figures below are the parent's",
            )
        )
    return facts


def _metrics_table(evaluation: "Evaluation") -> "RenderableType":
    from calib.reports.number_text import NAMES, span_text, value_text
    from calib.reports.widgets import plain_table

    table = plain_table(
        ("", "left"), ("value", "right"), ("95 % interval", "right"), ("floor, 95 %", "right")
    )
    for name in SHOWN_FIGURES:
        metric = evaluation.metrics[name]
        if metric.value is None:
            continue
        words, digits = NAMES[name]
        table.add_row(
            words,
            value_text(metric.value, digits),
            span_text(metric.interval, digits),
            "" if metric.floor is None else value_text(metric.floor.p95, digits),
        )
    return table


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
