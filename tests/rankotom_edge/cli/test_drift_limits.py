import pytest
import typer

from calib.limits import DEFAULT_LIMITS
from rankotom_edge.cli.drift_limits import chosen_limits, share


@pytest.mark.parametrize(("text", "value"), [("0.5%", 0.005), ("0.005", 0.005), ("0", 0.0)])
def test_a_limit_is_a_share_or_per_cent(text: str, value: float) -> None:
    assert share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["2", "-1%", "101%", "nan", "much", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a share"):
        share(text)


def test_limits_that_are_not_given_are_the_defaults() -> None:
    assert chosen_limits(None, None, None, None) == DEFAULT_LIMITS
    chosen = chosen_limits(None, None, None, 0.01)
    assert chosen.flips == 0.01
    assert chosen.ece == DEFAULT_LIMITS.ece
