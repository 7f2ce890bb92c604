"""The page that an export ends with: what it cost, what it is worth, and how it was made."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.agreement import agreement_report
from calib.limits import Limits
from calib.reports.terminal import drift_report
from calib.reports.widgets import (
    BLUE,
    FAINT,
    ORANGE,
    Report,
    heading,
    note,
    panel,
    percent,
    plain_table,
    points,
)
from calib.reports.wording import FASTER
from export.gate import LayerHarm, most_restored
from export.smaller_model import Made, Shrunk, Tried

BAR = 24
MOST_LAYERS = 10
MACHINES = {"x86": "x86 CPUs", "arm": "ARM CPUs", "tensorrt": "TensorRT"}


def shrunk_report(shrunk: Shrunk, limits: Limits) -> RenderableType:
    """With labels the drift's own page first; without, what was not checked first."""
    judged = shrunk.judged
    if judged.drift is not None:
        page = drift_report(judged.drift, judged.verdict, limits)
    else:
        assert judged.agreement is not None
        page = Group(
            agreement_report(judged.agreement, shrunk.parent.card.name, shrunk.card.name),
            heading("Verdict"),
            panel(judged.verdict.passed, unlabelled_headline(shrunk), judged.verdict.reasons),
            *(note(f"? {doubt}") for doubt in judged.verdict.unsure),
        )
    return Report((page, heading("How it was made"), _making(shrunk), *_search(shrunk.made)))


def unlabelled_headline(shrunk: Shrunk) -> str:
    """Never a plain yes: nobody has looked at its calibration."""
    if not shrunk.passed:
        return "No"
    weighed = shrunk.made.weighed
    gained = f"{percent(weighed.size_ratio, 0)} of the size"
    if weighed.latencies.ratio < FASTER:
        gained += f" and {1 / weighed.latencies.ratio:.1f} times as fast"
    return f"It says what its parent says, {gained}. ECE not checked"


def _making(shrunk: Shrunk) -> RenderableType:
    made, card = shrunk.made, shrunk.card
    chosen, judged = card.calibrated_on[-1], card.quantization["judged_on"]
    latencies = made.weighed.latencies
    facts = [
        ("for", " and ".join(MACHINES[target] for target in card.targets)),
        ("chosen on", f"{chosen.name}, {chosen.count:,} faces"),
        ("judged on", f"{judged['name']}, {judged['count']:,} faces" + _again(made)),
    ]
    if card.precision == "fp16":
        facts.append(
            ("computed", "here with FP16's weights and in FP32, as CPUs do; a GPU rounds more")
        )
    if not made.weighed.latency_judged:
        facts.append(
            (
                "latency",
                f"{latencies.reference:.1f} ms → {latencies.candidate:.1f} ms here, not judged",
            )
        )
    if shrunk.artifact is not None:
        facts.append(("written" if shrunk.passed else "rejected", str(shrunk.artifact.path)))
    else:
        facts.append(("written", "nothing; --keep-rejected keeps the candidate for a closer look"))
    if not shrunk.passed and shrunk.output.exists():
        facts.append(("older file", f"{shrunk.output} is as it was before"))
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in facts:
        table.add_row(Text(name, style=FAINT), Text(words))
    return table


def _again(made: Made) -> str:
    """Each further verdict on the same faces is a little easier to pass."""
    return "" if made.judgements == 1 else f", {made.judgements} times"


def _search(made: Made) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if made.tried:
        parts += [heading("Calibrations tried"), _tried_table(made)]
    if made.blamed:
        parts += [heading("Layers to blame"), _layer_table(made)]
    return parts


def _tried_table(made: Made) -> RenderableType:
    table = plain_table(
        ("", "left"),
        (_harm_name(made), "right"),
        ("ECE", "right"),
        ("temperature", "right"),
        ("", "left"),
    )
    for each in made.tried:
        kept = each.calibration == made.calibration
        table.add_row(
            Text(each.calibration, style="bold" if kept else ""),
            *_harm_cells(each),
            f"{each.temperature:.3f}",
            Text("kept", style=BLUE) if kept else "",
        )
    return Group(table, note("Against FP32, on the faces that choices are made on."))


def _layer_table(made: Made) -> RenderableType:
    """Bars by harm; those that the gate restored stand out."""
    table = plain_table(("", "left"), (_harm_name(made), "right"), ("ECE", "right"), ("", "left"))
    most = max(max(each.harm.both for each in made.blamed), 1e-12)
    for each in made.blamed[:MOST_LAYERS]:
        restored = each.layer in made.restored
        length = round(BAR * max(0.0, each.harm.both) / most)
        table.add_row(
            Text(each.layer, style="bold" if restored else ""),
            *_harm_cells(each),
            Text.assemble(
                ("▇" * length, ORANGE if restored else FAINT),
                (" restored to FP32" if restored else "", ORANGE),
            ),
        )
    rest = len(made.blamed) - MOST_LAYERS
    less = f" {rest} layers with less are left out." if rest > 0 else ""
    tried = "" if made.weighed.verdict.passed else _most_tried(len(made.blamed))
    return Group(table, note(f"What each does when it alone is quantized.{less}{tried}"))


def _most_tried(layers: int) -> str:
    return f" With the first {most_restored(layers)} of them in FP32 the gate still says no."


def _harm_name(made: Made) -> str:
    """Without labels it is how far the candidate strays from what its parent says."""
    return "divergence" if made.attempt.harm.ece is None else "NLL"


def _harm_cells(each: Tried | LayerHarm) -> tuple[str, str]:
    harm = each.harm
    nll = points(harm.nll / 100, 4)
    return nll, "–" if harm.ece is None else points(harm.ece, 2)
