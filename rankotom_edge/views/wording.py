"""What every view says about a reading.

The words name the expression that is seen, never what a person feels.
"""

from dataclasses import dataclass

from calib.evaluation import Evaluation
from calib.reports.number_text import faces_text
from rankotom_edge.faces.quality import REASONS
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.prediction_set import set_words
from rankotom_edge.readings.reading import Reading

UNSURE = "unsure"
MARK_MEANING = "how often a bar of that height was right"
# What the person can do about a poor crop.
ADVICE = {
    REASONS["size"]: "come closer",
    REASONS["sharpness"]: "hold still",
    REASONS["light"]: "turn towards the light",
    REASONS["glare"]: "step out of the light",
    REASONS["pose"]: "face the camera",
    REASONS["whole"]: "show the whole face",
    REASONS["inside"]: "move into the picture",
}


@dataclass(frozen=True)
class Headline:
    title: str  # the expression, the blend, or "unsure"
    number: str  # "83 %", "52 + 31", or nothing
    # How often such a number is right, the two of a blend that its name does not name, or why it is
    # unsure: a reason with advice, or the two expressions that it may be
    detail: str


def headline(reading: Reading, reliability: Reliability) -> Headline:
    if reading.verdict == "unsure":
        return Headline(UNSURE, "", doubt_words(reading) or reason_words(reading))
    blend = reading.blend
    if blend is not None:
        first, second = round(100 * blend.first_share), round(100 * blend.second_share)
        plain = all(name in blend.name for name in (blend.first, blend.second))
        parts = "" if plain else f"{blend.first} and {blend.second}"
        return Headline(blend.name, f"{first} + {second}", parts)
    confidence = reading.confidence
    return Headline(reading.top, percent(confidence), reliability_words(confidence, reliability))


def doubt_words(reading: Reading) -> str | None:
    """The two expressions that it may be; None where the reason says more."""
    rule = reading.set_rule
    return None if rule is None else set_words(reading.expressions, rule.coverage)


def reason_words(reading: Reading) -> str:
    """ "too dark: turn towards the light"; the reason alone where there is nothing to do."""
    reason = reading.reason or ""
    return f"{reason}: {ADVICE[reason]}" if reason in ADVICE else reason


def named_emotions(reading: Reading) -> tuple[str, ...]:
    """The emotions in the headline."""
    if reading.verdict == "unsure":
        return ()
    blend = reading.blend
    return (reading.top,) if blend is None else (blend.first, blend.second)


def reliability_words(confidence: float, reliability: Reliability) -> str:
    right = reliability.at(confidence)
    return "" if right is None else f"right {round(100 * right)} times in 100"


def calibration_words(evaluation: Evaluation) -> str | None:
    """None if the model's card does not say."""
    ece = evaluation.metrics["ece"].value
    return None if ece is None else f"ECE {100 * ece:.1f} %, {faces_text(evaluation.n)}"


def percent(share: float) -> str:
    """Never 100 %: no model here is that reliable."""
    return ">99 %" if share > 0.995 else f"{round(100 * share)} %"
