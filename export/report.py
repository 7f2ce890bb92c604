"""The report of an export: what the smaller model costs and gains, and how it was made."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.limits import Limits
from calib.reports.agreement import agreement_report
from calib.reports.number_text import percent, points
from calib.reports.terminal import drift_report
from calib.reports.widgets import BLUE, FAINT, ORANGE, Report, heading, note, panel, plain_table
from calib.reports.wording import FASTER
from export.search import CalibrationResult, LayerResult, SearchResult, max_restored
from export.smaller_model import SmallerModel

BAR = 24
MAX_LAYERS = 10
MACHINES = {"x86": "x86 CPUs", "arm": "ARM CPUs", "tensorrt": "TensorRT"}


def smaller_model_report(smaller: SmallerModel, limits: Limits) -> RenderableType:
    """With labels it begins with the drift report, without labels with the agreement."""
    judgement = smaller.judgement
    if judgement.drift is not None:
        page = drift_report(judgement.drift, judgement.verdict, limits)
    else:
        assert judgement.agreement is not None
        page = Group(
            agreement_report(judgement.agreement, smaller.parent.card.name, smaller.card.name),
            heading("Verdict"),
            panel(judgement.verdict.passed, _headline(smaller), judgement.verdict.reasons),
            *(note(f"? {doubt}") for doubt in judgement.verdict.unsure),
        )
    return Report(
        (page, heading("How it was made"), _settings_table(smaller), *_search_parts(smaller.search))
    )


def _headline(smaller: SmallerModel) -> str:
    """Without labels never a plain yes: its calibration was not measured."""
    if not smaller.passed:
        return "No"
    result = smaller.search.gate_result
    gain = f"{percent(result.size_ratio, 0)} of the size"
    if result.latencies.ratio < FASTER:
        gain += f" and {1 / result.latencies.ratio:.1f} times as fast"
    return f"It predicts as its parent does, {gain}. ECE not checked"


def _settings_table(smaller: SmallerModel) -> RenderableType:
    search, card = smaller.search, smaller.card
    calibrated, judged = card.calibrated_on[-1], card.quantization["judged_on"]
    latencies = search.gate_result.latencies
    rows = [
        ("for", " and ".join(MACHINES[target] for target in card.targets)),
        ("calibrated on", f"{calibrated.name}, {calibrated.count:,} faces"),
        ("judged on", f"{judged['name']}, {judged['count']:,} faces" + _judgement_count(search)),
    ]
    if card.precision == "fp16":
        rows.append(("computed", "here with FP16 weights in FP32 arithmetic; a GPU rounds more"))
    if not search.gate_result.latency_judged:
        rows.append(
            (
                "latency",
                f"{latencies.reference:.1f} ms → {latencies.candidate:.1f} ms here, not judged",
            )
        )
    if smaller.artifact is not None:
        rows.append(("written" if smaller.passed else "rejected", str(smaller.artifact.path)))
    else:
        rows.append(("written", "nothing; --keep-rejected writes the rejected model"))
    if not smaller.passed and smaller.output.exists():
        rows.append(("older file", f"{smaller.output} was not changed"))
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, text in rows:
        table.add_row(Text(name, style=FAINT), Text(text))
    return table


def _judgement_count(search: SearchResult) -> str:
    """Each further judgement on the same faces has another chance to pass by luck."""
    return "" if search.judgements == 1 else f", {search.judgements} times"


def _search_parts(search: SearchResult) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if search.calibrations:
        parts += [heading("Calibrations tried"), _calibration_table(search)]
    if search.layers:
        parts += [heading("Layers to blame"), _layer_table(search)]
    return parts


def _calibration_table(search: SearchResult) -> RenderableType:
    table = plain_table(
        ("", "left"),
        (_nll_heading(search), "right"),
        ("ECE", "right"),
        ("temperature", "right"),
        ("", "left"),
    )
    for each in search.calibrations:
        kept = each.calibration == search.calibration
        table.add_row(
            Text(each.calibration, style="bold" if kept else ""),
            *_degradation_cells(each),
            f"{each.temperature:.3f}",
            Text("kept", style=BLUE) if kept else "",
        )
    return Group(table, note("Change from FP32, on the calibration faces."))


def _layer_table(search: SearchResult) -> RenderableType:
    """A bar for the degradation by each layer; restored layers stand out."""
    table = plain_table(
        ("", "left"), (_nll_heading(search), "right"), ("ECE", "right"), ("", "left")
    )
    worst = max(max(each.degradation.total for each in search.layers), 1e-12)
    for each in search.layers[:MAX_LAYERS]:
        restored = each.layer in search.restored
        length = round(BAR * max(0.0, each.degradation.total) / worst)
        table.add_row(
            Text(each.layer, style="bold" if restored else ""),
            *_degradation_cells(each),
            Text.assemble(
                ("▇" * length, ORANGE if restored else FAINT),
                (" restored to FP32" if restored else "", ORANGE),
            ),
        )
    rest = len(search.layers) - MAX_LAYERS
    omitted = f" {rest} layers with less are omitted." if rest > 0 else ""
    failed = (
        ""
        if search.passed
        else f" The gate fails even with the first {max_restored(len(search.layers))} in FP32."
    )
    return Group(table, note(f"Change when only this layer is quantized.{omitted}{failed}"))


def _nll_heading(search: SearchResult) -> str:
    """Without labels it is the divergence from the parent's probabilities."""
    return "divergence" if search.candidate.degradation.ece is None else "NLL"


def _degradation_cells(each: CalibrationResult | LayerResult) -> tuple[str, str]:
    change = each.degradation
    nll = points(change.nll / 100, 4)
    return nll, "–" if change.ece is None else points(change.ece, 2)
