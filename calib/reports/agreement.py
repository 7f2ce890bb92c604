"""The terminal report on two models without labels: what was not checked, then what was."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from calib.agreement import Agreement, EmotionCounts
from calib.reports.number_text import faces_text, interval_text, percent, points, signed_interval
from calib.reports.widgets import FAINT, ORANGE, Report, heading, note, plain_table, title

UNCHECKED = "No labels: accuracy and ECE not checked."
MOST_FLIPS = 8  # rows on screen; the JSON has all


def agreement_report(agreement: Agreement, reference: str, candidate: str) -> RenderableType:
    parts: list[RenderableType] = [
        title(f"{reference}  →  {candidate}", f"the same {faces_text(agreement.n)}"),
        Text(UNCHECKED, style=ORANGE),
        note("Where two models differ, this cannot tell which is right."),
        Text(),
        _change_table(agreement),
        note(
            "The 95 % intervals assume independent faces: for the frames of one video they are too "
            "narrow. Distance: the share of the confidence that moved to other emotions."
        ),
        heading("Emotion by emotion"),
        _emotion_table(agreement.emotions),
    ]
    if agreement.flips:
        parts += [heading("What became what"), _flip_table(agreement)]
    return Report(tuple(parts))


def _change_table(agreement: Agreement) -> Table:
    table = plain_table(
        ("", "left"),
        ("before", "right"),
        ("after", "right"),
        ("change", "right"),
        ("95 % interval", "right"),
    )
    table.add_row(
        "flips",
        "",
        "",
        Text(percent(agreement.flip_rate), style="bold"),
        Text(interval_text(agreement.flips_interval, 1), style=FAINT),
    )
    table.add_row(
        "confidence",
        percent(agreement.reference_confidence),
        percent(agreement.candidate_confidence),
        Text(points(agreement.confidence_change), style="bold"),
        Text(signed_interval(agreement.confidence_interval, 1), style=FAINT),
    )
    table.add_row("distance", "", "", Text(percent(agreement.distance), style="bold"), "")
    worst = Text(f"face {agreement.worst_face}", style=FAINT)
    table.add_row("at worst", "", "", percent(agreement.worst), worst)
    return table


def _emotion_table(emotions: tuple[EmotionCounts, ...]) -> Table:
    table = plain_table(
        ("", "left"), ("before", "right"), ("after", "right"), ("flipped", "right"), ("", "right")
    )
    for emotion in emotions:
        share = percent(emotion.flipped / emotion.before) if emotion.before else "–"
        table.add_row(
            Text(emotion.name),
            f"{emotion.before:,}",
            f"{emotion.after:,}",
            f"{emotion.flipped:,}",
            Text(share, style=FAINT),
        )
    return table


def _flip_table(agreement: Agreement) -> Table:
    table = plain_table(("from", "left"), ("to", "left"), ("faces", "right"))
    for flip in agreement.flips[:MOST_FLIPS]:
        table.add_row(Text(flip.before), Text(flip.after), f"{flip.count:,}")
    if len(agreement.flips) > MOST_FLIPS:
        rest = sum(flip.count for flip in agreement.flips[MOST_FLIPS:])
        table.add_row(Text("others", style=FAINT), "", Text(f"{rest:,}", style=FAINT))
    return table
