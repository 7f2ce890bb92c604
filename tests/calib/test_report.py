"""Reports are looked at: what they say, in how many columns, with and without colour."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console, RenderableType

from calib.blends import compound_heatmap
from calib.diagrams import (
    DIAGONAL,
    NO_FACES,
    OVER,
    RIGHT,
    UNDER,
    Bound,
    IntervalPlot,
    reliability_bar,
)
from calib.drift import Drift, Limits, judge, measure_drift
from calib.evaluation import Evaluation, evaluate
from calib.layout import points
from calib.metrics import Bin
from calib.predictions import Predictions
from calib.report import (
    calibration_verdict,
    drift_report,
    evaluation_report,
    heatmap_as_json,
    heatmap_report,
)
from calib.resampling import Interval


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


def drifted(noise: float = 0.5, **known: float) -> Drift:
    return measure_drift(predictions(), predictions(noise=noise), resamples=100, **known)


def test_a_calibrated_model_is_called_consistent_with_perfect_calibration() -> None:
    consistent, words = calibration_verdict(evaluated())
    assert consistent
    assert words.startswith("Consistent with perfect calibration")
    assert "Consistent with perfect calibration" in printed(evaluation_report(evaluated()))


@pytest.mark.parametrize(
    ("temperature", "words"), [(0.5, "Too sure of itself"), (2.0, "Not sure enough")]
)
def test_a_miscalibrated_model_is_told_in_which_direction(temperature: float, words: str) -> None:
    consistent, sentence = calibration_verdict(evaluated(temperature))
    assert not consistent
    assert sentence.startswith(words)


def test_each_calibration_error_stands_beside_its_interval_and_its_floor() -> None:
    evaluation = evaluated()
    figure = evaluation.figures["ece"]
    assert figure.value is not None
    assert figure.interval is not None
    assert figure.floor is not None
    (line,) = (
        line for line in printed(evaluation_report(evaluation)).splitlines()
        if line.startswith("ECE ")
    )  # fmt: skip
    for fraction in (figure.value, figure.interval.low, figure.interval.high,
                     figure.floor.mean, figure.floor.p95):  # fmt: skip
        assert f"{100 * fraction:.2f}" in line


def test_every_bin_is_a_row_with_its_count() -> None:
    evaluation = evaluated()
    lines = printed(evaluation_report(evaluation)).splitlines()
    for bin_ in evaluation.reliability:
        label = f"{100 * bin_.low:.0f}–{100 * bin_.high:.0f} %"
        (line,) = (line for line in lines if line.strip().startswith(label))
        assert line.rstrip().endswith(f"{bin_.count:,}")


def test_the_surest_bin_is_on_top() -> None:
    text = printed(evaluation_report(evaluated()))
    assert text.index("93–100 %") < text.index("0–7 %")


def test_an_over_confident_bar_falls_short_of_the_diagonal() -> None:
    bar = reliability_bar(Bin(0.8, 0.9, 100, confidence=0.8, accuracy=0.5), 10).plain
    assert bar == RIGHT * 5 + OVER * 3 + DIAGONAL


def test_an_under_confident_bar_goes_past_the_diagonal() -> None:
    bar = reliability_bar(Bin(0.4, 0.6, 100, confidence=0.5, accuracy=0.8), 10).plain
    assert bar == RIGHT * 5 + DIAGONAL + UNDER * 3


def test_a_gap_of_less_than_half_a_cell_is_not_drawn() -> None:
    bar = reliability_bar(Bin(0.9, 1.0, 100, confidence=0.951, accuracy=0.949), 10).plain
    assert bar == RIGHT * 10 + DIAGONAL


def test_an_empty_bin_still_shows_where_the_diagonal_passes() -> None:
    bar = reliability_bar(Bin(0.4, 0.6, 0, confidence=None, accuracy=None), 10).plain
    assert bar == " " * 5 + NO_FACES


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
def test_no_bar_is_wider_than_its_room(accuracy: float) -> None:
    for confidence in np.linspace(0, 1, 21):
        bar = reliability_bar(Bin(0.0, 1.0, 9, float(confidence), accuracy), 40)
        assert len(bar.plain) <= 41


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
        f"{100 * (each.figures['ece'].value or 0):.2f} %"
        for each in (drift.reference, drift.candidate)
    )
    assert any(before in line and after in line for line in text.splitlines())


def test_what_is_known_of_size_latency_and_temperature_is_told_and_the_rest_left_out() -> None:
    known = drifted(
        size_ratio=0.26,
        latency_ratio=0.4,
        reference_temperature=0.6,
        candidate_temperature=0.62,
    )
    text = printed(drift_report(known, judge(known), Limits()))
    assert "26 %" in text
    assert "40 %" in text
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
    assert "? The predicted emotion changed" in text


def test_an_interval_plot_marks_zero_the_limit_and_the_change_in_order() -> None:
    line = IntervalPlot(0.002, Interval(0.001, 0.003), Bound(0.005)).line(41).plain
    assert line.index("│") == 20
    assert line.index("┋") == 30
    assert line.index("●") == 24
    assert line.count("─") == 4


def test_a_change_off_the_scale_becomes_an_arrow() -> None:
    bound = Bound(0.005, harm=-1)
    assert IntervalPlot(-0.5, None, bound).line(21).plain.startswith("◀")
    assert IntervalPlot(0.5, None, bound).line(21).plain.endswith("▶")


@pytest.mark.parametrize(
    ("change", "harm", "past"),
    [
        (0.006, 1, True),
        (0.005, 1, False),
        (-0.006, 1, False),
        (-0.006, -1, True),
        (0.006, -1, False),
    ],
)
def test_a_bound_is_passed_only_in_its_harmful_direction(
    change: float, harm: int, past: bool
) -> None:
    assert Bound(0.005, harm).passed_by(change) is past


@pytest.mark.parametrize(
    ("change", "text"), [(0.012, "+1.2"), (-0.012, "−1.2"), (-0.0001, "0.0"), (None, "–")]
)
def test_points_have_a_sign_unless_they_are_nothing(change: float | None, text: str) -> None:
    assert points(change) == text


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
    (record,) = heatmap_as_json(heatmap)
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
    drift = measure_drift(read, read, reference_model={"name": "[/red]"}, resamples=10)
    report = drift_report(drift, judge(drift), Limits())
    for text in (printed(evaluation_report(drift.reference)), printed(report)):
        assert all(name in text for name in (*names, "[/red]"))
