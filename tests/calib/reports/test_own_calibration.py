from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from calib.intervals import Interval
from calib.label_trial import LabelTrial
from calib.limits import Verdict
from calib.own_calibration import OwnCalibration
from calib.rater import RaterAgreement
from calib.reports.own_calibration import headline, own_calibration_report, rater_words
from calib.try_calibration import try_calibration


@pytest.fixture(scope="module")
def refused() -> LabelTrial:
    random = np.random.default_rng(0)
    logits = random.normal(0, 2, (60, 8))
    votes = np.stack([random.multinomial(2, row) for row in OwnCalibration().apply(logits)])
    votes[0] = 0
    trial = try_calibration(logits, votes, np.arange(60) // 2, resamples=20)
    return replace(trial, verdict=Verdict(False, ("Too few of them.", "Too unclear."), ()))


@pytest.fixture(scope="module")
def accepted(refused: LabelTrial) -> LabelTrial:
    return replace(refused, verdict=Verdict(True, (), ()), labels_to_go=None)


def text(trial: LabelTrial, width: int = 100) -> str:
    console = Console(width=width, file=None, record=True, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(own_calibration_report(trial, "ferplus-int8"))
    return captured.get()


def test_a_refusal_begins_with_the_labels_to_go_and_every_reason(refused: LabelTrial) -> None:
    lines = text(replace(refused, labels_to_go=120), width=300)
    assert "✗ Not yet: about 120 more labels would settle it" in lines
    assert all(reason in lines for reason in refused.verdict.reasons)


def test_acceptance_says_which_way_and_what_decided(accepted: LabelTrial) -> None:
    too_sure = replace(accepted, calibration=OwnCalibration(1.4))
    assert headline(too_sure) == "Yes: the model is too sure of your faces, and this corrects it"
    assert "not sure enough" in headline(replace(accepted, calibration=OwnCalibration(0.7)))
    assert "times as likely" in text(too_sure)


def test_a_model_that_is_as_sure_as_it_should_be_needs_nothing(refused: LabelTrial) -> None:
    near = replace(refused.evidence, temperature=Interval(0.95, 1.05))
    trial = replace(
        refused, evidence=near, labels_to_go=None, verdict=Verdict(False, ("because",), ())
    )
    assert headline(trial).startswith("Not needed")
    assert headline(replace(trial, verdict=Verdict(False, ("one", "two"), ()))).startswith("No:")


def test_it_says_that_the_labelled_faces_are_unlike_all_faces(refused: LabelTrial) -> None:
    assert "chosen spread over the range of confidence" in " ".join(text(refused).split())


def test_counts_groups_and_faces_that_nobody_could_tell_are_shown(refused: LabelTrial) -> None:
    assert "118 labels of 59 faces in 30 groups; for 1 more nobody could tell" in text(refused)


def test_the_agreement_of_two_raters_is_beside_what_is_usual(refused: LabelTrial) -> None:
    known = RaterAgreement(50, 0.61, Interval(0.4, 0.7))
    words = rater_words(replace(refused, raters=known))
    assert words == "two labels of a face agree on 61 % of 50 faces; 40–70 % are usual"
    assert "a second rater would show it" in rater_words(replace(refused, raters=RaterAgreement(0)))


def test_offsets_are_named_by_emotion(accepted: LabelTrial) -> None:
    offsets = (0.5, -0.25, 0.0, 0.0, 0.0, 0.0, 0.0, -0.25)
    lines = " ".join(text(replace(accepted, calibration=OwnCalibration(1.2, offsets))).split())
    assert "neutral +0.50, happiness −0.25" in lines


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal(refused: LabelTrial, width: int) -> None:
    assert max(map(len, text(refused, width).splitlines())) <= width
