import pytest

from calib.intervals import Interval
from calib.limits import LimitCheck, Verdict


@pytest.mark.parametrize(
    ("change", "name", "failed"),
    [
        (0.006, "ece", True),
        (0.005, "ece", False),
        (-0.006, "ece", False),
        (-0.006, "accuracy", True),
        (0.006, "accuracy", False),
    ],
)
def test_a_limit_is_passed_only_in_its_harmful_direction(
    change: float, name: str, failed: bool
) -> None:
    assert LimitCheck(name, change, Interval(change, change), 0.005).failed is failed


def test_a_limit_has_the_sign_of_the_harm() -> None:
    nothing = Interval(0, 0)
    limits = [LimitCheck(name, 0, nothing, 0.5).limit for name in ("ece", "accuracy", "flips")]
    assert limits == [0.5, -0.5, 0.5]


def test_a_limit_allows_for_rounding() -> None:
    on_limit, change = 0.905 - 0.9, 0.00501
    assert on_limit > 0.005
    assert not LimitCheck("ece", on_limit, Interval(0, 0.01), 0.005).failed
    assert LimitCheck("ece", change, Interval(0, 0.01), 0.005).failed


@pytest.mark.parametrize(
    ("low", "high", "unsure"), [(0.004, 0.006, True), (0.001, 0.004, False), (0.006, 0.01, False)]
)
def test_a_limit_inside_the_interval_is_unsure(low: float, high: float, unsure: bool) -> None:
    assert LimitCheck("ece", (low + high) / 2, Interval(low, high), 0.005).unsure is unsure


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("ece", 0.008, "ECE rose by 0.8 points; the limit is 0.5."),
        ("accuracy", -0.0126, "Accuracy fell by 1.3 points; the limit is 0.5."),
        (
            "flips",
            0.034,
            "The predicted emotion changed on 3.4 % of the faces; the limit is 0.5 %.",
        ),
    ],
)
def test_a_reason_has_the_change_and_the_limit(name: str, change: float, reason: str) -> None:
    assert LimitCheck(name, change, Interval(change, change), 0.005).reason() == reason


def test_a_number_close_to_the_limit_gets_the_digits_that_distinguish_it() -> None:
    close = LimitCheck("ece", 0.00501, Interval(0.00499, 0.00503), 0.005)
    assert close.reason() == "ECE rose by 0.501 points; the limit is 0.5."
    assert "ECE +0.501 points, 95 % interval +0.499 to +0.503, limit +0.5" in close.doubt(1000)


def test_a_doubt_is_about_one_face_or_several() -> None:
    check = LimitCheck("flips", 0.0, Interval(0.0, 0.5), 0.02)
    assert "1 face is too few to be sure" in check.doubt(1)
    assert "30 faces are too few to be sure" in check.doubt(30)


def test_a_verdict_is_plain_json() -> None:
    assert Verdict(False, ("too slow",), ("few faces",)).as_json() == {
        "passed": False,
        "reasons": ["too slow"],
        "unsure": ["few faces"],
    }
