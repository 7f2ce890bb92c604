"""The terminal reports on an evaluation, a drift and a compound heatmap, as rich renderables."""

from collections.abc import Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from calib.blends import PAIR_SHARE, SECOND_SHARE, CompoundHeatmap
from calib.drift import ClassDrift, Drift, check_limits
from calib.evaluation import ClassMetrics, Estimate, Evaluation
from calib.guarantees import CONFIDENCE, SHOWN_BUDGETS, SetSummary, guaranteed_threshold
from calib.limits import LimitCheck, Limits, Verdict
from calib.metrics import LARGE_BIN
from calib.reports.charts import (
    HEATMAP_ROWS,
    SHOWN_CLASSES,
    Heatmap,
    IntervalPlot,
    ReliabilityDiagram,
    legend,
)
from calib.reports.number_text import (
    NAMES,
    faces_text,
    interval_text,
    percent,
    points,
    signed_interval,
    signed_text,
    value_text,
)
from calib.reports.widgets import (
    BLUE,
    FAINT,
    ORANGE,
    FirstThatFits,
    Mark,
    Report,
    heading,
    note,
    panel,
    plain_table,
    title,
)
from calib.reports.wording import calibration_verdict, drift_headline, drift_notes, model_name
from calib.resampling import ROUGH_INTERVALS


def evaluation_report(
    evaluation: Evaluation,
    heatmap: CompoundHeatmap | None = None,
    sets: Sequence[SetSummary] = (),
) -> RenderableType:
    """The verdict in words, the metrics with interval and floor, the reliability diagram, and what
    can be promised of new faces."""
    parts: list[RenderableType] = [
        title(model_name(evaluation), faces_text(evaluation.n)),
        _calibration_panel(evaluation),
        _metrics_table(evaluation),
        note(_metric_notes(evaluation)),
        heading("Reliability"),
        ReliabilityDiagram(evaluation.reliability),
        legend(),
        heading("Emotion by emotion"),
        _class_table(evaluation),
    ]
    if evaluation.thresholds:
        parts += [heading("What holds for new faces like these"), _guarantees(evaluation, sets)]
    if heatmap is not None and heatmap.rows:
        parts += [heading("Blends that people saw"), heatmap_report(heatmap)]
    return Report(tuple(parts))


def drift_report(drift: Drift, verdict: Verdict, limits: Limits) -> RenderableType:
    """The verdict first, then before and after side by side, then the change of each emotion."""
    before, after = model_name(drift.reference), model_name(drift.candidate)
    parts: list[RenderableType] = [
        title(f"{before}  →  {after}", f"the same {faces_text(drift.reference.n)}"),
        panel(verdict.passed, drift_headline(drift, limits, verdict), verdict.reasons),
        _change_table(drift, limits),
        note("●─ change, paired 95 % interval   ┋ limit   ◉ both   ? chance might decide"),
        note(
            "floor: a perfectly calibrated model shows more than this in only 1 of 20 samples. "
            "The intervals of calibration errors are for samples of this size, noise included."
        ),
        *(note(f"? {doubt}") for doubt in verdict.unsure),
        heading("Reliability"),
        _reliability_side_by_side(drift),
        legend(),
        heading("Emotion by emotion"),
        _class_drift_table(drift.per_class),
        heading("What changed on a face"),
        _notes_table(drift),
    ]
    return Report(tuple(parts))


def heatmap_report(heatmap: CompoundHeatmap) -> RenderableType:
    hidden = heatmap.counts[HEATMAP_ROWS:]
    rarer = f" Rarer blends that are not shown: {len(hidden)}." if hidden else ""
    return Group(
        Heatmap(heatmap),
        note(
            "Mean confidence in per cent, [ ] around the two emotions that people voted for "
            f"(together at least {100 * PAIR_SHARE:.0f} % of the votes, the lesser at least "
            f"{100 * SECOND_SHARE:.0f} %); both: how often those two were the model's top two."
            f"{rarer}"
        ),
    )


def _calibration_panel(evaluation: Evaluation) -> RenderableType:
    consistent, words = calibration_verdict(evaluation)
    headline, _, rest = words.partition(": ")
    return panel(consistent, headline, [rest[0].upper() + rest[1:]])


def _metric_notes(evaluation: Evaluation) -> str:
    sentences = [
        "The floor is what a perfectly calibrated model with the same confidences would show on "
        "as many faces: its mean and its 95th percentile (p95).",
        "The interval of a calibration error is for samples of this size, noise included; the "
        "floor shows how much of it is noise.",
        "MCE depends on the emptiest bins and has no reliable interval.",
    ]
    if evaluation.metrics["mce50"].value is not None:
        sentences.append(f"MCE, {LARGE_BIN}+: over bins with at least {LARGE_BIN} faces.")
    return " ".join(sentences)


def _metrics_table(evaluation: Evaluation) -> RenderableType:
    table = plain_table(
        ("", "left"),
        ("measured", "right"),
        ("95 % interval", "right"),
        ("floor", "right"),
        ("p95", "right"),
        ("", "left"),
    )
    for name, estimate in evaluation.metrics.items():
        if estimate.value is not None:
            table.add_row(*_metric_cells(name, estimate))
    return table


def _metric_cells(name: str, estimate: Estimate) -> list[RenderableType]:
    label, digits = NAMES[name]
    cells: list[RenderableType] = [
        label,
        Text(value_text(estimate.value, digits), style="bold"),
        Text(_interval_text(name, estimate), style=FAINT),
    ]
    if estimate.floor is None:
        return cells
    within = bool(estimate.consistent)
    return [
        *cells,
        value_text(estimate.floor.mean, digits),
        value_text(estimate.floor.p95, digits),
        Mark(within, after=" within chance" if within else " beyond chance"),
    ]


def _interval_text(name: str, estimate: Estimate) -> str:
    """Empty for an interval that covers the metric less than 95 times in 100."""
    return "" if name in ROUGH_INTERVALS else interval_text(estimate.interval, NAMES[name][1])


def _guarantees(evaluation: Evaluation, sets: Sequence[SetSummary]) -> RenderableType:
    budgets = plain_table(
        ("wrong, at most", "right"),
        ("confidence needed", "right"),
        ("faces", "right"),
        ("of them wrong", "right"),
    )
    for budget in SHOWN_BUDGETS:
        threshold = guaranteed_threshold(evaluation.thresholds, budget)
        if threshold is None:
            budgets.add_row(percent(budget, 0), Text("cannot be promised", style=FAINT))
        else:
            budgets.add_row(
                percent(budget, 0),
                percent(threshold.confidence, 0),
                percent(threshold.count / evaluation.n),
                percent(threshold.wrong / threshold.count),
            )
    parts: list[RenderableType] = [
        budgets,
        note(
            "Of the readings at or above the confidence, at most that share is wrong, with "
            f"{100 * CONFIDENCE:.0f} % confidence (camera --max-error); faces: how many reach it."
        ),
    ]
    if sets:
        table = plain_table(
            ("a set holds the label, at least", "right"),
            ("measured", "right"),
            ("expressions in it", "right"),
        )
        for each in sets:
            table.add_row(percent(each.coverage, 0), percent(each.covered), f"{each.size:.2f}")
        parts += [
            table,
            note(
                "Prediction sets: the likeliest expressions until their bars add up to enough. "
                "Each half of the faces is measured with the sum that the other half needed."
            ),
        ]
    return Group(*parts)


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
    for index, emotion in enumerate(evaluation.per_class[:SHOWN_CLASSES]):
        cells = _class_cells(emotion)
        narrow.add_row(*cells)
        wide.add_row(*cells, _mistaken_for(evaluation, index))
    key = note(
        "found: the share of its faces that the model recognises; says, is right: its "
        "confidence when it names it, and how often it is right; ECE: class-wise, over all faces."
    )
    return Group(FirstThatFits((wide, narrow)), key, *_hidden_classes(len(evaluation.per_class)))


def _class_cells(emotion: ClassMetrics) -> list[RenderableType]:
    precision = Text(percent(emotion.precision))
    if emotion.precision is not None and emotion.confidence is not None:
        precision.stylize(BLUE if emotion.precision >= emotion.confidence else ORANGE)
    return [
        Text(emotion.name),
        f"{emotion.count:,}",
        percent(emotion.accuracy),
        percent(emotion.confidence),
        precision,
        percent(emotion.ece),
    ]


def _mistaken_for(evaluation: Evaluation, index: int) -> Text:
    row = evaluation.confusion[index]
    mistakes = [*row[:index], 0, *row[index + 1 :]]
    if not any(mistakes):
        return Text("–", style=FAINT)
    other = mistakes.index(max(mistakes))
    return Text(f"{evaluation.classes[other]} {percent(row[other] / sum(row), 0)}", style=FAINT)


def _hidden_classes(classes: int) -> list[RenderableType]:
    hidden = classes - SHOWN_CLASSES
    if hidden <= 0:
        return []
    return [note(f"{hidden} more {'class is' if hidden == 1 else 'classes are'} in the JSON.")]


def _change_table(drift: Drift, limits: Limits) -> RenderableType:
    """Two lines for each metric: the values, and below them their intervals, faint."""
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
        _two_lines(percent(drift.flips.rate), interval_text(spread, 1), "bold"),
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
        _value_with_floor(name, drift.reference.metrics[name]),
        _value_with_floor(name, drift.candidate.metrics[name]),
        _two_lines(signed_text(change, digits), signed_interval(spread, digits), "bold"),
        "" if spread is None else IntervalPlot(change, spread, check),
        "" if check is None else _limit(check),
    ]


def _value_with_floor(name: str, estimate: Estimate) -> RenderableType:
    """The value, its interval, and its floor, one below the other."""
    digits = NAMES[name][1]
    value = _two_lines(value_text(estimate.value, digits), _interval_text(name, estimate))
    if estimate.floor is None:
        return value
    p95 = value_text(estimate.floor.p95, digits).removesuffix(" %")
    return Group(value, Mark(bool(estimate.consistent), after=f" floor {p95}"))


def _two_lines(value: str, below: str, style: str = "") -> Text:
    return Text.assemble((value, style), (f"\n{below}" if below else "", FAINT))


def _limit(check: LimitCheck) -> RenderableType:
    """The limit, whether it is kept, and a question mark where chance might decide."""
    limit = f"{100 * check.limit:+.4g}".replace("-", "−")
    if check.name == "flips":
        limit = limit.removeprefix("+")
    return Mark(not check.failed, before=f"{limit} ", after="?" if check.unsure else " ")


def _reliability_side_by_side(drift: Drift) -> RenderableType:
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
    for drift in per_class[:SHOWN_CLASSES]:
        cells = _class_drift_cells(drift)
        narrow.add_row(*cells)
        wide.add_row(*cells, _flip_bar(drift, most))
    key = note(
        "ECE: class-wise. *: beyond chance: the paired 95 % interval excludes 0. Chance alone "
        "marks 1 number in 20."
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


def _notes_table(drift: Drift) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in drift_notes(drift):
        table.add_row(Text(name, style=FAINT), words)
    return table
