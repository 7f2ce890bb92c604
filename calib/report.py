"""The reports that people read: an evaluation, a drift, a compound heatmap, as rich renderables.

Nothing here prints: a caller gives what these return to a ``rich.console.Console``.
"""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.blends import PAIR_SHARE, SECOND_SHARE, CompoundHeatmap
from calib.diagrams import (
    HEATMAP_ROWS,
    Bound,
    Heatmap,
    IntervalPlot,
    ReliabilityDiagram,
    bounds,
    legend,
)
from calib.drift import ClassDrift, Drift, Limits, Verdict
from calib.evaluation import ClassFigures, Evaluation, Figure
from calib.layout import (
    BLUE,
    FAINT,
    NAMES,
    ORANGE,
    figure_text,
    heading,
    note,
    panel,
    percent,
    plain_table,
    points,
    signed_span_text,
    signed_text,
    span_text,
    title,
)
from calib.resampling import LARGE_BIN, Interval

MOST_CLASSES = 24
# Under half a point between what is said and what is right, over- and under-confidence cancel out.
MIXED = 0.005


def evaluation_report(
    evaluation: Evaluation, heatmap: CompoundHeatmap | None = None
) -> RenderableType:
    """The verdict in plain words, the figures with interval and floor, and the diagram."""
    parts: list[RenderableType] = [
        title(model_name(evaluation), f"{evaluation.n:,} faces"),
        _calibration_panel(evaluation),
        _figures_table(evaluation),
        note(
            "The floor is what a perfectly calibrated model with the same confidences would show "
            f"on as many faces, by chance: on average, and in 19 of 20 samples at most. "
            f"MCE, {LARGE_BIN}+: over bins with at least {LARGE_BIN} faces."
        ),
        heading("Reliability"),
        ReliabilityDiagram(evaluation.reliability),
        legend(),
        heading("Emotion by emotion"),
        _class_table(evaluation),
    ]
    if heatmap is not None and heatmap.rows:
        parts += [heading("Blends that people saw"), heatmap_report(heatmap)]
    return Group(*parts)


def drift_report(drift: Drift, verdict: Verdict, limits: Limits) -> RenderableType:
    """The verdict first, then before and after side by side, then who paid for it."""
    before, after = model_name(drift.reference), model_name(drift.candidate)
    return Group(
        title(f"{before}  →  {after}", f"the same {drift.reference.n:,} faces"),
        _verdict_panel(verdict),
        _change_table(drift, limits),
        note("●─ the change and its paired 95 % interval   ┋ its limit   ? chance might decide"),
        *(note(f"? {doubt}") for doubt in verdict.unsure),
        heading("Reliability"),
        _side_by_side(drift),
        legend(),
        heading("Emotion by emotion"),
        _class_drift_table(drift.per_class),
        heading("What changed on a face"),
        _facts(drift),
    )


def heatmap_report(heatmap: CompoundHeatmap) -> RenderableType:
    """The heatmap with how to read it."""
    hidden = heatmap.counts[HEATMAP_ROWS:]
    rarer = f" {len(hidden)} rarer blends ({sum(hidden)} faces) are not shown." if hidden else ""
    return Group(
        Heatmap(heatmap),
        note(
            "Mean confidence in per cent, [ ] around the two emotions that people voted for "
            f"(together {PAIR_SHARE:.0%} of the votes, the lesser {SECOND_SHARE:.0%}); both: how "
            f"often those two were the model's likeliest two.{rarer}"
        ),
    )


def heatmap_as_json(heatmap: CompoundHeatmap) -> list[dict[str, object]]:
    """A record per blend, the commonest first."""
    return [
        {
            "name": name,
            "emotions": [heatmap.columns[column] for column in heatmap.constituents[row]],
            "count": heatmap.counts[row],
            "match": heatmap.matches[row],
            "confidence": dict(zip(heatmap.columns, heatmap.confidence[row].tolist(), strict=True)),
        }
        for row, name in enumerate(heatmap.rows)
    ]


def model_name(evaluation: Evaluation) -> str:
    return str(evaluation.model.get("name") or evaluation.model.get("file") or "predictions")


def calibration_verdict(evaluation: Evaluation) -> tuple[bool, str]:
    """Whether chance alone explains the calibration error, and that in a sentence or two."""
    figures = {name: evaluation.figures[name] for name in ("ece", "aece")}
    beyond = [name for name, figure in figures.items() if figure.consistent is False]
    name = beyond[0] if beyond else "ece"
    value, bound = percent(figures[name].value, 2), figures[name].floor
    ceiling = percent(bound.p95 if bound else None, 2)
    faces = f"{evaluation.n:,} faces"
    if not beyond:
        return True, (
            f"Consistent with perfect calibration: chance alone shows an ECE of up to {ceiling} "
            f"on {faces}, and this one is {value}."
        )
    said, right = mean_confidence(evaluation), evaluation.figures["accuracy"].value or 0.0
    attitude = "Too sure of itself" if said > right else "Not sure enough"
    if abs(said - right) < MIXED:
        attitude = "Too sure in places, not sure enough in others"
    return False, (
        f"{attitude}: it says {percent(said)} on average and is right {percent(right)} of the "
        f"time. Its {NAMES[name][0]} of {value} is not chance, which shows {ceiling} at most on "
        f"{faces}."
    )


def mean_confidence(evaluation: Evaluation) -> float:
    return sum(bin_.count * (bin_.confidence or 0.0) for bin_ in evaluation.reliability) / (
        evaluation.n
    )


def _calibration_panel(evaluation: Evaluation) -> RenderableType:
    consistent, words = calibration_verdict(evaluation)
    headline, _, rest = words.partition(": ")
    return panel(consistent, headline, [rest[0].upper() + rest[1:]])


def _verdict_panel(verdict: Verdict) -> RenderableType:
    headline = "Yes: within every limit" if verdict.passed else "No: past the limit"
    return panel(verdict.passed, headline, verdict.reasons)


def _figures_table(evaluation: Evaluation) -> RenderableType:
    table = plain_table(
        ("", "left"),
        ("measured", "right"),
        ("95 % interval", "right"),
        ("floor", "right"),
        ("at most", "right"),
        ("", "left"),
    )
    for name, figure in evaluation.figures.items():
        if figure.value is not None:
            table.add_row(*_figure_cells(name, figure))
    if evaluation.vote_distance is not None:
        table.add_row("distance to votes", percent(evaluation.vote_distance))
    return table


def _figure_cells(name: str, figure: Figure) -> list[RenderableType]:
    label, digits = NAMES[name]
    cells: list[RenderableType] = [
        label,
        Text(figure_text(figure.value, digits), style="bold"),
        Text(span_text(figure.interval, digits), style=FAINT),
    ]
    if figure.floor is None:
        return cells
    within = figure.consistent
    words = "✓ within chance" if within else "✗ beyond chance"
    return [
        *cells,
        figure_text(figure.floor.mean, digits),
        figure_text(figure.floor.p95, digits),
        Text(words, style=BLUE if within else ORANGE),
    ]


def _class_table(evaluation: Evaluation) -> RenderableType:
    table = plain_table(
        ("", "left"),
        ("faces", "right"),
        ("found", "right"),
        ("says", "right"),
        ("is right", "right"),
        ("ECE", "right"),
        ("most often taken for", "left"),
    )
    for index, figures in enumerate(evaluation.per_class[:MOST_CLASSES]):
        table.add_row(*_class_cells(figures), _mistaken_for(evaluation, index))
    key = note("found: of its faces, how many; says, is right: where the model names it.")
    return Group(table, key, *_hidden_classes(len(evaluation.per_class)))


def _class_cells(figures: ClassFigures) -> list[RenderableType]:
    precision = Text(percent(figures.precision))
    if figures.precision is not None and figures.confidence is not None:
        precision.stylize(BLUE if figures.precision >= figures.confidence else ORANGE)
    return [
        Text(figures.name),
        f"{figures.count:,}",
        percent(figures.accuracy),
        percent(figures.confidence),
        precision,
        percent(figures.ece),
    ]


def _mistaken_for(evaluation: Evaluation, index: int) -> Text:
    row = evaluation.confusion[index].copy()
    faces = int(row.sum())
    row[index] = 0
    if not row.any():
        return Text("–", style=FAINT)
    other = int(row.argmax())
    return Text(f"{evaluation.classes[other]} {percent(row[other] / faces, 0)}", style=FAINT)


def _hidden_classes(classes: int) -> list[RenderableType]:
    hidden = classes - MOST_CLASSES
    return [note(f"{hidden} more classes are in the JSON.")] if hidden > 0 else []


def _change_table(drift: Drift, limits: Limits) -> RenderableType:
    """Two lines a metric: the figures, and their intervals faint beneath."""
    table = plain_table(("", "left"), ("before", "right"), ("after", "right"), ("change", "right"))
    table.expand, table.padding = True, (0, 1, 0, 0)
    table.add_column("", ratio=1, min_width=17)
    table.add_column("limit", justify="right", no_wrap=True)
    limit_of = bounds(limits)
    for name, change in drift.change.items():
        table.add_row(*_change_cells(drift, name, change, limit_of.get(name)))
    spread = drift.intervals["flips"]
    table.add_row(
        "flips",
        "",
        "",
        _two_lines(percent(drift.flips.rate), span_text(spread, 1), "bold"),
        IntervalPlot(drift.flips.rate, spread, limit_of["flips"]),
        _limit(drift.flips.rate, spread, limit_of["flips"]),
    )
    return table


def _change_cells(
    drift: Drift, name: str, change: float, bound: Bound | None
) -> list[RenderableType]:
    label, digits = NAMES[name]
    before, after = drift.reference.figures[name], drift.candidate.figures[name]
    spread = drift.intervals.get(name)
    return [
        label,
        _two_lines(figure_text(before.value, digits), span_text(before.interval, digits)),
        _two_lines(figure_text(after.value, digits), span_text(after.interval, digits)),
        _two_lines(signed_text(change, digits), signed_span_text(spread, digits), "bold"),
        IntervalPlot(change, spread, bound),
        _limit(change, spread, bound),
    ]


def _two_lines(value: str, beneath: str, style: str = "") -> Text:
    return Text.assemble((value, style), "\n", (beneath, FAINT))


def _limit(change: float, interval: Interval | None, bound: Bound | None) -> Text:
    """The limit, whether it was kept, and a question mark where chance might decide."""
    if bound is None:
        return Text()
    past = bound.passed_by(change)
    unsure = interval is not None and interval.spans(bound.at)
    return Text.assemble(
        (f"{points(bound.at)} {'✗' if past else '✓'}", ORANGE if past else BLUE),
        "?" if unsure else " ",
    )


def _side_by_side(drift: Drift) -> RenderableType:
    table = Table.grid(expand=True)
    table.add_column(ratio=1)
    table.add_column(width=2)
    table.add_column(ratio=1)
    before, after = drift.reference, drift.candidate
    table.add_row(
        Text(f"before: {model_name(before)}", style=FAINT, no_wrap=True, overflow="ellipsis"),
        "",
        Text(f"after: {model_name(after)}", style=FAINT, no_wrap=True, overflow="ellipsis"),
    )
    table.add_row(
        ReliabilityDiagram(before.reliability, compact=True),
        "",
        ReliabilityDiagram(after.reliability, compact=True),
    )
    return table


def _class_drift_table(per_class: tuple[ClassDrift, ...]) -> RenderableType:
    table = plain_table(
        ("", "left"),
        ("faces", "right"),
        ("accuracy", "right"),
        ("ECE", "right"),
        ("confidence", "right"),
        ("broken", "right"),
        ("mended", "right"),
        ("flipped", "left"),
    )
    most = max((drift.flips.rate for drift in per_class if drift.flips), default=0.0)
    for drift in per_class[:MOST_CLASSES]:
        table.add_row(*_class_drift_cells(drift, most))
    return Group(table, *_hidden_classes(len(per_class)))


def _class_drift_cells(drift: ClassDrift, most: float) -> list[RenderableType]:
    flips, shift = drift.flips, drift.confidence_shift
    bar = "▇" * (round(8 * flips.rate / most) if flips and most else 0)
    return [
        Text(drift.name),
        f"{drift.count:,}",
        points(drift.accuracy),
        points(drift.ece),
        points(shift.mean if shift else None),
        percent(flips.broken if flips else None),
        percent(flips.mended if flips else None),
        Text.assemble(f"{percent(flips.rate if flips else None):>7} ", (bar, ORANGE)),
    ]


def _facts(drift: Drift) -> RenderableType:
    flips, shift = drift.flips, drift.confidence_shift
    sideways = max(0.0, flips.rate - flips.broken - flips.mended)
    facts = [
        (
            "emotion",
            f"changed on {percent(flips.rate)}: {percent(flips.broken)} right to wrong, "
            f"{percent(flips.mended)} wrong to right, {percent(sideways)} wrong to wrong",
        ),
        (
            "confidence",
            f"{points(shift.mean)} points on average, {percent(shift.mean_absolute)} either way; "
            f"at worst {points(shift.worst)}, face {shift.worst_face}",
        ),
        ("temperature", _pair(drift.reference.temperature, drift.candidate.temperature)),
        ("size", _ratio(drift.size_ratio, "of the reference's")),
        ("latency", _ratio(drift.latency_ratio, "of the reference's")),
    ]
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in facts:
        if words:
            table.add_row(Text(name, style=FAINT), words)
    return table


def _pair(before: float | None, after: float | None) -> str:
    known = [f"{value:.3f}" if value is not None else "unknown" for value in (before, after)]
    return "" if before is None and after is None else " → ".join(known)


def _ratio(ratio: float | None, of_what: str) -> str:
    return "" if ratio is None else f"{percent(ratio, 0)} {of_what}"
