"""The terminal report on a calibration that was tried on a user's own labels."""

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.emotions import EMOTIONS
from calib.evaluation import Estimate
from calib.label_trial import LabelledFigures, LabelTrial
from calib.metrics import Bin
from calib.reports.charts import ReliabilityDiagram, legend
from calib.reports.number_text import (
    faces_text,
    interval_text,
    percent,
    signed_interval,
    signed_text,
    value_text,
)
from calib.reports.widgets import FAINT, Mark, Report, heading, note, panel, plain_table, title
from calib.trial_gate import CHI_SQUARE, settled

# Name and decimals in per cent; None: not a share.
ROWS: dict[str, tuple[str, int | None]] = {
    "nll": ("NLL of the labels", None),
    "ece": ("ECE", 1),
    "accuracy": ("right", 1),
}
SHOWN_FACES = 10  # in a bin; with fewer it is faint
SAMPLE = (
    "These are figures of the labelled faces. They were chosen spread over the range of "
    "confidence, so ECE and the share that is right differ from those of all faces that the "
    "camera sees."
)
HELD_OUT = "after: each face is read with a calibration that was fitted to other faces."
RIGHT = (
    "right: by what most people would say, not by one rater; a single label is often another one, "
    "and that is taken into account. floor: a perfectly calibrated model with as many labels shows "
    "more than this in only 1 of 20 samples."
)


def own_calibration_report(trial: LabelTrial, model: str) -> RenderableType:
    """The verdict first, then before and after, and last what it rests on."""
    return Report(
        (
            title(f"{model}: your faces", _counts(trial)),
            panel(trial.verdict.passed, headline(trial), reasons(trial)),
            _change_table(trial),
            note(RIGHT),
            note(f"{HELD_OUT} {SAMPLE}"),
            *(note(f"? {doubt}") for doubt in trial.verdict.unsure),
            heading("Reliability"),
            _side_by_side(trial),
            legend(),
            heading("What this rests on"),
            _notes_table(trial),
        )
    )


def headline(trial: LabelTrial) -> str:
    """The verdict in one line."""
    if trial.verdict.passed:
        attitude = "too sure of" if trial.calibration.temperature > 1 else "not sure enough of"
        return f"Yes: the model is {attitude} your faces, and this corrects it"
    if trial.labels_to_go is not None:
        more = "1 more label" if trial.labels_to_go == 1 else f"{trial.labels_to_go:,} more labels"
        return f"Not yet: about {more} would settle it"
    if settled(trial.evidence) and len(trial.verdict.reasons) == 1:
        return "Not needed: the model is as sure of your faces as it should be"
    return "No: the model stays as it was shipped"


def reasons(trial: LabelTrial) -> tuple[str, ...]:
    """Why: of a refusal, or of the figure that decided for it."""
    if not trial.verdict.passed:
        return trial.verdict.reasons
    times, asked = (math.exp(each / 2) for each in (trial.evidence.gain, CHI_SQUARE))
    words = f"It makes your labels {times:,.0f} times as likely; {asked:.0f} times is enough."
    if trial.before.ece.consistent:
        words += f" The ECE of {faces_text(trial.faces)} is too rough to show it."
    return (words,)


def trial_notes(trial: LabelTrial) -> list[tuple[str, str]]:
    """Name and sentence of each note: what was fitted, to what, and what is missing."""
    notes = [
        ("fitted", _fitted_words(trial)),
        ("labels", _counts(trial)),
        ("raters", rater_words(trial)),
    ]
    if trial.labels_to_go is not None:
        notes.append(
            (
                "to settle it",
                f"about {trial.labels_to_go:,} more, if the temperature stays near "
                f"{trial.evidence.likeliest:.2f}",
            )
        )
    return notes


def _fitted_words(trial: LabelTrial) -> str:
    calibration, evidence = trial.calibration, trial.evidence
    words = (
        f"temperature {calibration.temperature:.2f} (1 is as shipped); by the labels alone "
        f"{evidence.likeliest:.2f}, 95 % interval {evidence.temperature.low:.2f} to "
        f"{evidence.temperature.high:.2f}"
    )
    if calibration.offsets:
        moved = zip(EMOTIONS, calibration.offsets, strict=False)
        words += "; offsets: " + ", ".join(f"{name} {each:+.2f}" for name, each in moved)
    return words.replace("-", "−")


def rater_words(trial: LabelTrial) -> str:
    raters = trial.raters
    if raters.observed is None or raters.usual is None:
        return "one label a face, so how well raters agree is unknown; a second rater would show it"
    return (
        f"two labels of a face agree on {percent(raters.observed, 0)} of {faces_text(raters.faces)}"
        f"; {interval_text(raters.usual, 0)} % are usual"
    )


def _counts(trial: LabelTrial) -> str:
    words = f"{trial.labels:,} labels of {faces_text(trial.faces)}"
    if trial.groups != trial.faces:
        words += f" in {trial.groups:,} groups"
    if trial.unlabelled:
        words += f"; for {trial.unlabelled:,} more nobody could tell"
    return words


def _change_table(trial: LabelTrial) -> Table:
    """Two lines for each figure: the value, and below it its interval, faint."""
    table = plain_table(("", "left"), ("before", "right"), ("after", "right"), ("change", "right"))
    table.add_row(
        "says",
        percent(trial.before.confidence),
        percent(trial.after.confidence),
        Text(signed_text(trial.after.confidence - trial.before.confidence, 1), style="bold"),
    )
    for name, (label, digits) in ROWS.items():
        table.add_row(
            label,
            _value(getattr(trial.before, name), digits),
            _value(getattr(trial.after, name), digits),
            _two_lines(
                signed_text(trial.change[name], digits),
                signed_interval(trial.intervals.get(name), digits),
                "bold",
            ),
        )
    return table


def _value(estimate: Estimate, digits: int | None) -> RenderableType:
    words = _two_lines(value_text(estimate.value, digits), interval_text(estimate.interval, digits))
    if estimate.floor is None:
        return words
    return Group(words, Mark(bool(estimate.consistent), after=f" floor {floor_text(estimate)}"))


def floor_text(estimate: Estimate) -> str:
    return "" if estimate.floor is None else percent(estimate.floor.p95).removesuffix(" %")


def _two_lines(value: str, below: str, style: str = "") -> Text:
    return Text.assemble((value, style), (f"\n{below}" if below else "", FAINT))


def _side_by_side(trial: LabelTrial) -> Table:
    table = Table.grid(expand=True)
    table.add_column(ratio=1)
    table.add_column(width=2)
    table.add_column(ratio=1)
    sides: Sequence[LabelledFigures] = (trial.before, trial.after)
    before, after = (
        ReliabilityDiagram(_seen(each, sides), compact=True, large=SHOWN_FACES) for each in sides
    )
    table.add_row(Text("before: as shipped", style=FAINT), "", Text("after", style=FAINT))
    table.add_row(before, "", after)
    return table


def _seen(figures: LabelledFigures, sides: Sequence[LabelledFigures]) -> tuple[Bin, ...]:
    """Without the lowest bins, which hold no face on either side."""
    first = min(index for each in sides for index, bin_ in enumerate(each.bins) if bin_.count)
    return figures.bins[first:]


def _notes_table(trial: LabelTrial) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, words in trial_notes(trial):
        table.add_row(Text(name, style=FAINT), words)
    return table
