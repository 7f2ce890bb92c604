import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calib.limits import DEFAULT_LIMITS, Limits
from rankotom_edge.cli.drift_limits import LimitOptions


def test_limits_that_are_not_given_are_the_defaults() -> None:
    assert LimitOptions().limits() == DEFAULT_LIMITS
    chosen = LimitOptions(flips_limit=0.01).limits()
    assert chosen.flips == 0.01
    assert chosen.ece == DEFAULT_LIMITS.ece


def test_the_default_limits_in_the_help_are_the_real_ones(run: Callable[..., Any]) -> None:
    page = run("drift", "--help", COLUMNS="120").stdout
    for name in ("ece", "aece", "accuracy", "flips"):
        shown = re.search(rf"--{name}-limit.*default: (\S+)%\]", page)
        assert shown is not None, page
        assert float(shown[1]) / 100 == pytest.approx(getattr(Limits(), name))


@pytest.mark.parametrize("limit", ["2", "-1%", "much", "nan", "101%"])
def test_a_limit_that_is_no_share_is_bad_usage(
    run: Callable[..., Any], files: dict[str, Path], limit: str
) -> None:
    finished = run("drift", str(files["good"]), str(files["near"]), f"--flips-limit={limit}")
    assert finished.returncode == 2
    assert "20%" in finished.stderr
