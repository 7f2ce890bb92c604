"""The words for a reading, the same in every view."""

from dataclasses import replace
from typing import Any

import pytest

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.prediction_set import SetRule, set_words
from rankotom_edge.views.wording import calibration_words, headline, named_emotions, percent


def test_a_sure_reading_has_its_confidence_and_how_often_that_is_right(
    showing: Any, reliability: Reliability
) -> None:
    words = headline(showing.reading(happiness=0.83), reliability)
    right = reliability.at(0.83)
    assert right is not None
    assert (words.title, words.number) == ("happiness", "83 %")
    assert words.detail == f"right {round(100 * right)} times in 100"


def test_a_blend_has_both_shares(showing: Any, reliability: Reliability) -> None:
    reading = showing.reading(happiness=0.52, surprise=0.31)
    words = headline(reading, reliability)
    assert (words.title, words.number) == ("happily surprised", "52 + 31")
    assert words.detail == "happiness and surprise"
    assert named_emotions(reading) == ("happiness", "surprise")


def test_a_blend_whose_name_has_both_expressions_does_not_repeat_them(
    showing: Any, reliability: Reliability
) -> None:
    words = headline(showing.reading(neutral=0.6, sadness=0.31), reliability)
    assert (words.title, words.number, words.detail) == ("neutral, with sadness", "60 + 31", "")
    words = headline(showing.reading(sadness=0.6, neutral=0.31), reliability)
    assert (words.title, words.detail) == ("slightly sad", "sadness and neutral")


def test_an_unsure_reading_has_its_reason_and_names_no_emotion(
    showing: Any, reliability: Reliability
) -> None:
    reading = showing.reading(happiness=0.5, reason="too little contrast")
    words = headline(reading, reliability)
    assert (words.title, words.number, words.detail) == ("unsure", "", "too little contrast")
    assert named_emotions(reading) == ()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("too dark", "too dark: turn towards the light"),
        ("too small", "too small: come closer"),
        ("turned away", "turned away: face the camera"),
    ],
)
def test_an_unsure_reading_says_what_the_person_can_do(
    showing: Any, reliability: Reliability, reason: str, words: str
) -> None:
    assert headline(showing.reading(happiness=0.5, reason=reason), reliability).detail == words


def test_where_only_confidence_is_missing_the_few_likely_expressions_are_named(
    showing: Any, reliability: Reliability
) -> None:
    reason = "48 % sure, 60 % needed"
    reading = showing.reading(sadness=0.48, neutral=0.4, reason=reason)
    assert headline(reading, reliability).detail == reason
    several = replace(reading, set_rule=SetRule(mass=0.85, coverage=0.9))
    assert headline(several, reliability).detail == "sadness or neutral, 90 %"
    assert named_emotions(several) == ()
    alone, many = (replace(reading, set_rule=SetRule(mass, 0.9)) for mass in (0.4, 0.999))
    assert headline(alone, reliability).detail == headline(many, reliability).detail == reason
    blurred = replace(several, poor="blurred", reason="blurred")
    assert headline(blurred, reliability).detail == "blurred: hold still"


def test_only_two_expressions_are_named() -> None:
    three = ("sadness", "neutral", "fear")
    assert set_words(three[:2], 0.95) == "sadness or neutral, 95 %"
    assert set_words(three, 0.95) is None
    assert set_words(three[:1], 0.95) is None


@pytest.mark.parametrize(
    ("share", "words"), [(0.0, "0 %"), (0.834, "83 %"), (0.994, "99 %"), (0.9951, ">99 %")]
)
def test_a_share_is_in_whole_per_cent_and_never_100(share: float, words: str) -> None:
    assert percent(share) == words


def test_the_calibration_of_a_model_is_said_if_it_was_measured(model: MeasuredModel) -> None:
    evaluation = model.evaluation
    ece = evaluation.metrics["ece"]
    assert ece.value is not None
    assert calibration_words(evaluation) == f"ECE {100 * ece.value:.1f} %, 1,789 faces"
    unknown = evaluation.metrics | {"ece": replace(ece, value=None)}
    assert calibration_words(replace(evaluation, metrics=unknown)) is None
