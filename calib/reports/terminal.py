"""The reports that people read: an evaluation, a drift, a compound heatmap, as rich renderables.

Nothing here prints: a caller gives what these return to a ``rich.console.Console``.
"""

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from calib.blends import PAIR_SHARE, SECOND_SHARE, CompoundHeatmap
from calib.drift import ClassDrift, Drift, check_limits
from calib.evaluation import ClassMetrics, Estimate, Evaluation
from calib.limits import LimitCheck, Limits, Verdict
from calib.reports.charts import (
    HEATMAP_ROWS,
    Heatmap,
    IntervalPlot,
    ReliabilityDiagram,
    legend,
)
from calib.reports.model_notes import facts
from calib.reports.widgets import (
    BLUE,
    FAINT,
    NAMES,
    ORANGE,
    FirstThatFits,
    Mark,
    Report,
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
from calib.reports.wording import calibration_verdict, drift_headline, model_name
from calib.resampling import LARGE_BIN, ROUGH_INTERVALS

MOST_CLASSES = 24


def evaluation_report(
    evaluation: Evaluation, heatmap: CompoundHeatmap | None = None
) -> RenderableType:
    """The verdict in plain words, the figures with interval and floor, and the diagram."""
    parts: list[RenderableType] = [
        title(model_name(evaluation), evaluation.faces),
        _calibration_panel(evaluation),
        _figures_table(evaluation),
        note(_how_to_read(evaluation)),
        heading("Reliability"),
        ReliabilityDiagram(evaluation.reliability),
        legend(),
        heading("Emotion by emotion"),
        _class_table(evaluation),
    ]
    if heatmap is not None and heatmap.rows:
        parts += [heading("Blends that people saw"), heatmap_report(heatmap)]
    return Report(tuple(parts))


def drift_report(drift: Drift, verdict: Verdict, limits: Limits) -> RenderableType:
    """The verdict first, then before and after side by side, then who paid for it."""
    before, after = model_name(drift.reference), model_name(drift.candidate)
    parts: list[RenderableType] = [
        title(f"{before}  →  {after}", f"the same {drift.reference.faces}"),
        panel(verdict.passed, drift_headline(drift, limits, verdict), verdict.reasons),
        _change_table(drift, limits),
        note("●─ change, paired 95 % interval   ┋ limit   ◉ both   ? chance might decide"),
        note(
            "floor: a perfectly calibrated model shows more than this in only 1 of 20 samples. "
            "The intervals of calibration errors are of samples of this size, noise included."
        ),
        *(note(f"? {doubt}") for doubt in verdict.unsure),
        heading("Reliability"),
        _side_by_side(drift),
        legend(),
        heading("Emotion by emotion"),
        _class_drift_table(drift.per_class),
        heading("What changed on a face"),
        _facts(drift),
    ]
    return Report(tuple(parts))


def heatmap_report(heatmap: CompoundHeatmap) -> RenderableType:
    """The heatmap with how to read it."""
    hidden = heatmap.counts[HEATMAP_ROWS:]
    rarer = f" Rarer blends that are not shown: {len(hidden)}." if hidden else ""
    return Group(
        Heatmap(heatmap),
        note(
            "Mean confidence in per cent, [ ] around the two emotions that people voted for "
            f"(together at least {100 * PAIR_SHARE:.0f} % of the votes, the lesser at least "
            f"{100 * SECOND_SHARE:.0f} %); both: how often those two were the model's likeliest "
            f"two.{rarer}"
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


def _calibration_panel(evaluation: Evaluation) -> RenderableType:
    consistent, words = calibration_verdict(evaluation)
    headline, _, rest = words.partition(": ")
    return panel(consistent, headline, [rest[0].upper() + rest[1:]])


def _how_to_read(evaluation: Evaluation) -> str:
    sentences = [
        "The floor is what a perfectly calibrated model with the same confidences would show on "
        "as many faces: on average, and at most in 19 of 20 samples.",
        "The interval of a calibration error is that of samples of this size, noise included; "
        "the floor tells what part is noise.",
        "MCE hangs on the emptiest bins and has no fair interval.",
    ]
    if evaluation.metrics["mce50"].value is not None:
        sentences.append(f"MCE, {LARGE_BIN}+: over bins with at least {LARGE_BIN} faces.")
    return " ".join(sentences)


def _figures_table(evaluation: Evaluation) -> RenderableType:
    table = plain_table(
        ("", "left"),
        ("measured", "right"),
        ("95 % interval", "right"),
        ("floor", "right"),
        ("at most", "right"),
        ("", "left"),
    )
    for name, figure in evaluation.metrics.items():
        if figure.value is not None:
            table.add_row(*_figure_cells(name, figure))
    return table


def _figure_cells(name: str, figure: Estimate) -> list[RenderableType]:
    label, digits = NAMES[name]
    cells: list[RenderableType] = [
        label,
        Text(figure_text(figure.value, digits), style="bold"),
        Text(_span(name, figure), style=FAINT),
    ]
    if figure.floor is None:
        return cells
    within = bool(figure.consistent)
    return [
        *cells,
        figure_text(figure.floor.mean, digits),
        figure_text(figure.floor.p95, digits),
        Mark(within, after=" within chance" if within else " beyond chance"),
    ]


def _span(name: str, figure: Estimate) -> str:
    """Only what holds the figure 95 times in 100 is called a 95 % interval."""
    return "" if name in ROUGH_INTERVALS else span_text(figure.interval, NAMES[name][1])


def _class_table(evaluation: Evaluation) -> RenderableType:
    columns: list[tuple[str, JustifyMethod]] = [
        ("", "left"),
        ("faces", "right"),
        ("found", "right"),
        ("says", "right"),
        ("is right", "right"),
        ("ECE", "right"),
    ]
    wide, narrow = plain_table(*columns, ("most often taken for", "left")), plain_table(*columns)
    for index, figures in enumerate(evaluation.per_class[:MOST_CLASSES]):
        cells = _class_cells(figures)
        narrow.add_row(*cells)
        wide.add_row(*cells, _mistaken_for(evaluation, index))
    key = note(
        "found: of its faces, how many; says, is right: where the model names it; "
        "ECE: class-wise, of the probability given to it on all faces."
    )
    return Group(FirstThatFits((wide, narrow)), key, *_hidden_classes(len(evaluation.per_class)))


def _class_cells(figures: ClassMetrics) -> list[RenderableType]:
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
    row = evaluation.confusion[index]
    mistakes = [*row[:index], 0, *row[index + 1 :]]
    if not any(mistakes):
        return Text("–", style=FAINT)
    other = mistakes.index(max(mistakes))
    return Text(f"{evaluation.classes[other]} {percent(row[other] / sum(row), 0)}", style=FAINT)


def _hidden_classes(classes: int) -> list[RenderableType]:
    hidden = classes - MOST_CLASSES
    if hidden <= 0:
        return []
    return [note(f"{hidden} more {'class is' if hidden == 1 else 'classes are'} in the JSON.")]


def _change_table(drift: Drift, limits: Limits) -> RenderableType:
    """Two lines a metric: the figures, and their intervals faint beneath."""
    table = plain_table(("", "left"), ("before", "right"), ("after", "right"), ("change", "right"))
    table.expand, table.padding = True, (0, 1, 0, 0)
    table.columns[0].max_width = len("class-wise ECE")
    table.add_column("", ratio=1, min_width=15)
    table.add_column("limit", justify="right", no_wrap=True)
    checks = {check.name: check for check in check_limits(drift, limits)}
    for name, change in drift.change.items():
        table.add_row(*_change_cells(drift, name, change, checks.get(name)))
    spread = drift.intervals["flips"]
    table.add_row(
        "flips",
        "",
        "",
        _two_lines(percent(drift.flips.rate), span_text(spread, 1), "bold"),
        IntervalPlot(drift.flips.rate, spread, checks["flips"]),
        _limit(checks["flips"]),
    )
    return table


def _change_cells(
    drift: Drift, name: str, change: float, check: LimitCheck | None
) -> list[RenderableType]:
    label, digits = NAMES[name]
    spread = None if name in ROUGH_INTERVALS else drift.intervals.get(name)
    return [
        label,
        _measured(name, drift.reference.metrics[name]),
        _measured(name, drift.candidate.metrics[name]),
        _two_lines(signed_text(change, digits), signed_span_text(spread, digits), "bold"),
        "" if spread is None else IntervalPlot(change, spread, check),
        "" if check is None else _limit(check),
    ]


def _measured(name: str, figure: Estimate) -> RenderableType:
    """The figure, its interval beneath, and beneath that its floor."""
    digits = NAMES[name][1]
    figures = _two_lines(figure_text(figure.value, digits), _span(name, figure))
    if figure.floor is None:
        return figures
    ceiling = figure_text(figure.floor.p95, digits).removesuffix(" %")
    return Group(figures, Mark(bool(figure.consistent), after=f" floor {ceiling}"))


def _two_lines(value: str, beneath: str, style: str = "") -> Text:
    return Text.assemble((value, style), (f"\n{beneath}" if beneath else "", FAINT))


def _limit(check: LimitCheck) -> RenderableType:
    """The limit, whether it was kept, and a question mark where chance might decide."""
    limit = f"{100 * check.limit:+.4g}".replace("-", "−")
    if check.name == "flips":
        limit = limit.removeprefix("+")
    return Mark(not check.failed, before=f"{limit} ", after="?" if check.unsure else " ")


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
    columns: list[tuple[str, JustifyMethod]] = [
        ("", "left"),
        ("faces", "right"),
        ("accuracy", "right"),
        ("ECE", "right"),
        ("confidence", "right"),
        ("broken", "right"),
        ("mended", "right"),
        ("flipped", "right"),
    ]
    wide, narrow = plain_table(*columns, ("", "left")), plain_table(*columns)
    most = max((drift.flips.rate for drift in per_class if drift.flips), default=0.0)
    for drift in per_class[:MOST_CLASSES]:
        cells = _class_drift_cells(drift)
        narrow.add_row(*cells)
        wide.add_row(*cells, _flip_bar(drift, most))
    key = note(
        "ECE: class-wise. *: beyond chance, for its paired 95 % interval leaves out 0; by chance "
        "alone, 1 figure in 20 does."
    )
    return Group(FirstThatFits((wide, narrow)), key, *_hidden_classes(len(per_class)))


def _class_drift_cells(drift: ClassDrift) -> list[RenderableType]:
    flips = drift.flips
    return [
        Text(drift.name),
        f"{drift.count:,}",
        *(_class_change(drift, metric) for metric in ("accuracy", "ece", "confidence")),
        percent(flips.broken if flips else None),
        percent(flips.mended if flips else None),
        percent(flips.rate if flips else None),
    ]


def _class_change(drift: ClassDrift, metric: str) -> Text:
    beyond = drift.beyond_chance(metric)
    words = points(drift.change.get(metric), 2 if metric == "ece" else 1)
    return Text(f"{words}{'*' if beyond else ' '}", style="" if beyond else FAINT)


def _flip_bar(drift: ClassDrift, most: float) -> Text:
    share = drift.flips.rate / most if drift.flips and most else 0.0
    return Text("▇" * round(8 * share), style=ORANGE)


def _facts(drift: Drift) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in facts(drift):
        table.add_row(Text(name, style=FAINT), words)
    return table
