import pytest

from calib.evaluation import METRICS
from calib.intervals import Interval
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


@pytest.mark.parametrize(
    ("change", "text"), [(0.012, "+1.2"), (-0.012, "−1.2"), (-0.0001, "0.0"), (None, "–")]
)
def test_points_have_a_sign_unless_they_are_0(change: float | None, text: str) -> None:
    assert points(change) == text


def test_every_metric_has_a_name_on_screen() -> None:
    assert NAMES.keys() == {*METRICS, "flips"}


def test_one_face_is_not_called_faces() -> None:
    assert (faces_text(1), faces_text(1789)) == ("1 face", "1,789 faces")


def test_a_share_is_in_per_cent_and_another_value_is_not() -> None:
    assert (percent(0.1234), percent(0.1234, 0), percent(None)) == ("12.3 %", "12 %", "–")
    assert value_text(0.1234, 2) == "12.34 %"
    assert value_text(0.1234, None) == "0.123"
    assert value_text(None, 2) == "–"


def test_an_interval_has_the_unit_of_its_value() -> None:
    interval = Interval(-0.0123, 0.0456)
    assert interval_text(Interval(0.0123, 0.0456), 1) == "1.2–4.6"
    assert interval_text(Interval(0.0123, 0.0456), None) == "0.012–0.046"
    assert signed_interval(interval, 1) == "−1.2 … +4.6"
    assert signed_interval(interval, None) == "−0.012 … +0.046"
    assert (interval_text(None, 1), signed_interval(None, 1)) == ("", "")


def test_a_change_is_in_points_or_in_the_unit_of_its_value() -> None:
    assert signed_text(0.0123, 1) == "+1.2"
    assert signed_text(-0.0123, None) == "−0.012"
