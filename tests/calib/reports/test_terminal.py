"""Reports are looked at: what they say, in how many columns, with and without colour."""

from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import numpy as np
import pytest
from rich.console import Console, RenderableType

from calib.blends import COMPOUNDS, compound_heatmap
from calib.drift import Drift, judge, measure_drift
from calib.evaluation import Evaluation, evaluate
from calib.limits import Limits
from calib.predictions import Predictions
from calib.reports.charts import DIAGONAL, OVER, UNDER
from calib.reports.terminal import (
    drift_report,
    evaluation_report,
    heatmap_report,
)


def printed(report: RenderableType, width: int = 80, colour: bool = False) -> str:
    output = StringIO()
    console = Console(
        file=output,
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        highlight=False,
    )
    console.print(report)
    return output.getvalue()


def predictions(temperature: float = 1.0, noise: float = 0.0, faces: int = 2000) -> Predictions:
    """Labels drawn from the probabilities at temperature 1, so that only 1 is calibrated."""
    random = np.random.default_rng(3)
    logits = random.normal(scale=1.5, size=(faces, 8))
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (random.random((faces, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(0, 7)
    votes = random.multinomial(10, shares)
    logits = logits + random.normal(scale=noise, size=logits.shape) if noise else logits
    return Predictions.from_logits(logits, labels, votes=votes, temperature=temperature)


def evaluated(temperature: float = 1.0) -> Evaluation:
    return evaluate(predictions(temperature), resamples=100)


def drifted(noise: float = 0.5, **known: Any) -> Drift:
    return measure_drift(predictions(), predictions(noise=noise), resamples=100, **known)


def test_each_calibration_error_has_its_interval_and_its_floor_in_its_row() -> None:
    evaluation = evaluated()
    estimate = evaluation.metrics["ece"]
    assert estimate.value is not None
    assert estimate.interval is not None
    assert estimate.floor is not None
    (line,) = (
        line for line in printed(evaluation_report(evaluation)).splitlines()
        if line.startswith("ECE ")
    )  # fmt: skip
    for fraction in (estimate.value, estimate.interval.low, estimate.interval.high,
                     estimate.floor.mean, estimate.floor.p95):  # fmt: skip
        assert f"{100 * fraction:.2f}" in line


def test_before_and_after_stand_over_their_floors() -> None:
    drift = drifted()
    lines = printed(drift_report(drift, judge(drift), Limits())).splitlines()
    for name, start, digits in (("ece", "ECE ", 2), ("aece", "AECE ", 2), ("mce", "MCE  ", 1)):
        row = next(index for index, line in enumerate(lines) if line.startswith(start))
        (beneath,) = (line for line in lines[row : row + 3] if "floor" in line)
        for evaluation in (drift.reference, drift.candidate):
            estimate = evaluation.metrics[name]
            assert estimate.floor is not None
            mark = "✓" if estimate.consistent else "✗"
            assert f"{mark} floor {100 * estimate.floor.p95:.{digits}f}" in beneath


def test_mce_over_all_bins_is_shown_without_an_interval() -> None:
    evaluation = evaluated()
    lines = printed(evaluation_report(evaluation)).splitlines()
    (line,) = (line for line in lines if line.startswith("MCE  "))
    assert line.count("%") == 3
    assert "–" not in line


def test_the_distance_to_votes_and_the_class_wise_error_have_their_intervals() -> None:
    text = printed(evaluation_report(evaluated()))
    for name in ("class-wise ECE", "distance to votes"):
        (line,) = (line for line in text.splitlines() if line.startswith(name))
        assert "–" in line


def test_large_bins_are_explained_only_where_there_is_one() -> None:
    assert "MCE, 50+: over" in printed(evaluation_report(evaluated()))
    few = evaluate(predictions(faces=40), resamples=10)
    assert "MCE, 50+" not in printed(evaluation_report(few))


def test_one_face_is_not_called_faces() -> None:
    drift = measure_drift(predictions(faces=1), predictions(faces=1), resamples=10)
    for report in (
        evaluation_report(drift.reference),
        drift_report(drift, judge(drift), Limits()),
    ):
        text = printed(report)
        assert "1 face" in text
        assert "1 faces" not in text


def test_changes_within_chance_are_faint_and_others_are_starred() -> None:
    drift = measure_drift(predictions(), predictions(temperature=0.5), resamples=100)
    lines = printed(drift_report(drift, judge(drift), Limits())).splitlines()
    for each in drift.per_class:
        (line,) = (line for line in lines if line.startswith(f"{each.name} "))
        marked = [each.beyond_chance(name) for name in ("accuracy", "ece", "confidence")]
        assert line.count("*") == sum(marked)
        assert marked[2]
        assert not marked[0]


def test_every_bin_is_a_row_with_its_count() -> None:
    evaluation = evaluated()
    lines = printed(evaluation_report(evaluation)).splitlines()
    for bin_ in evaluation.reliability:
        label = f"{100 * bin_.low:.0f}–{100 * bin_.high:.0f} %"
        (line,) = (line for line in lines if line.strip().startswith(label))
        assert line.rstrip().endswith(f"{bin_.count:,}")


def test_the_most_confident_bin_is_on_top() -> None:
    text = printed(evaluation_report(evaluated()))
    assert text.index("93–100 %") < text.index("0–7 %")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_reports_keep_to_the_width(width: int) -> None:
    drift = drifted()
    read = predictions()
    assert read.votes is not None
    heatmap = compound_heatmap(read.probabilities, read.votes, read.classes)
    for report in (
        evaluation_report(drift.reference, heatmap),
        drift_report(drift, judge(drift), Limits()),
    ):
        lines = printed(report, width).splitlines()
        assert max(map(len, lines)) <= width


COMPOUND_CLASSES = (*COMPOUNDS.values(), *(f"{name} again" for name in COMPOUNDS.values()))


@pytest.mark.parametrize("width", [70, 80])
def test_long_class_names_cost_no_digit(width: int) -> None:
    random = np.random.default_rng(0)
    classes = (*COMPOUND_CLASSES, "a", "b", "c", "d")
    shares = random.dirichlet(np.full(26, 0.2), 800)
    votes = random.multinomial(10, shares).astype(float)
    read = Predictions(shares, random.integers(0, 26, 800), classes, votes=votes)
    drift = measure_drift(read, read, resamples=10)
    heatmap = compound_heatmap(shares, votes, classes)
    for report in (
        evaluation_report(drift.reference, heatmap),
        drift_report(drift, judge(drift), Limits()),
    ):
        text = printed(report, width)
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text.replace(" … ", "")[: text.find("Blends")]
    assert "most often taken for" not in text


def test_without_unicode_every_character_has_a_stand_in() -> None:
    drift = drifted(noise=2.0)
    read = predictions()
    assert read.votes is not None
    heatmap = compound_heatmap(read.probabilities, read.votes, read.classes)
    verdict = judge(drift)
    assert not verdict.passed
    for report in (
        evaluation_report(drift.reference, heatmap),
        drift_report(drift, verdict, Limits()),
    ):
        output = TextIOWrapper(BytesIO(), encoding="ascii", errors="strict")
        Console(file=output, width=80, color_system=None, highlight=False).print(report)
        output.seek(0)
        text = output.read()
        assert "##" in text
        assert "ok floor" in text or "ok within chance" in text


def test_without_colour_the_same_characters_are_printed() -> None:
    report = evaluation_report(evaluated(2.0))
    colourless = printed(report)
    assert "\x1b" not in colourless
    assert "\x1b[" in printed(report, colour=True)
    assert {OVER, UNDER, DIAGONAL} <= set(colourless)


def test_a_drift_report_answers_yes_or_no_in_one_line() -> None:
    same, worse = drifted(noise=1e-6), drifted(noise=2.0)
    assert "✓ Yes" in printed(drift_report(same, judge(same), Limits()))
    report = printed(drift_report(worse, judge(worse), Limits()))
    assert "✗ No" in report
    assert "the limit is" in report


def test_a_drift_report_shows_before_and_after_side_by_side() -> None:
    drift = drifted()
    text = printed(drift_report(drift, judge(drift), Limits()))
    assert any(line.count("93–100") == 2 for line in text.splitlines())
    before, after = (
        f"{100 * (each.metrics['ece'].value or 0):.2f} %"
        for each in (drift.reference, drift.candidate)
    )
    assert any(before in line and after in line for line in text.splitlines())


def test_the_report_has_size_latency_and_temperature_only_where_known() -> None:
    known = drifted(
        size_ratio=0.26,
        latency_ms=(5.0, 2.0),
        temperatures=(0.6, 0.62),
    )
    text = printed(drift_report(known, judge(known), Limits()))
    assert "26 %" in text
    assert "5.0 ms → 2.0 ms a face, 2.5 times as fast" in text
    assert "26 % of the size and 2.5 times as fast" in text or "✗ No" in text
    assert "0.600 → 0.620" in text
    unknown = drifted()
    assert "latency" not in printed(drift_report(unknown, judge(unknown), Limits()))


def test_a_limit_that_the_interval_spans_is_marked_and_explained() -> None:
    drift = drifted()
    limits = Limits(flips=drift.flips.rate)
    verdict = judge(drift, limits)
    text = printed(drift_report(drift, verdict, limits))
    assert verdict.unsure
    assert "✓?" in text
    assert f"? Flips {100 * drift.flips.rate:.1f}" in text


def test_the_heatmap_frames_the_two_voted_emotions() -> None:
    votes = np.zeros((3, 8))
    votes[:, [1, 2]] = 5
    probabilities = np.full((3, 8), 0.05)
    probabilities[:, 1], probabilities[:, 2] = 0.4, 0.3
    read = Predictions(probabilities, np.array([1, 1, 2]), votes=votes)
    heatmap = compound_heatmap(read.probabilities, votes, read.classes)
    text = printed(heatmap_report(heatmap))
    (line,) = (line for line in text.splitlines() if line.startswith("happily surprised"))
    assert "[40]" in line
    assert "[30]" in line
    assert line.count("[") == 2
    (record,) = heatmap.as_json()
    assert record["name"] == "happily surprised"
    assert record["emotions"] == ["happiness", "surprise"]
    assert record["count"] == 3


def test_a_thousand_classes_do_not_flood_the_screen() -> None:
    random = np.random.default_rng(0)
    read = Predictions(random.dirichlet(np.ones(1000), 50), random.integers(0, 1000, 50))
    text = printed(evaluation_report(evaluate(read, resamples=10)))
    assert len(text.splitlines()) < 90
    assert "976 more classes" in text


def test_names_are_shown_as_they_are_and_never_read_as_markup() -> None:
    names = ("[bold]", "[/nothing]")
    read = Predictions(np.full((4, 2), 0.5), np.array([0, 1, 0, 1]), classes=names)
    drift = measure_drift(read, read, models=({"name": "[/red]"}, None), resamples=10)
    report = drift_report(drift, judge(drift), Limits())
    for text in (printed(evaluation_report(drift.reference)), printed(report)):
        assert all(name in text for name in (*names, "[/red]"))


def test_a_limit_is_shown_as_it_was_given_and_a_rate_has_no_sign() -> None:
    drift, limits = drifted(noise=0.1), Limits(accuracy=0.0125, flips=0.5)
    lines = printed(drift_report(drift, judge(drift, limits), limits)).splitlines()
    (accuracy,) = (line for line in lines if line.startswith("accuracy "))
    (flips,) = (line for line in lines if line.startswith("flips "))
    assert " −1.25 " in accuracy
    assert " 50 " in flips
