"""The limits that a drift is held to, as options of the commands that judge one."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from calib.limits import Limits


def share(text: str) -> float:
    """``0.5%`` and ``0.005`` are the same limit."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is not a share; write 0.5% or 0.005")
    return value


def _limit(words: str, default: str) -> Any:
    """The defaults are those of calib.drift.Limits, which --help must not wait for."""
    return typer.Option(
        parser=share,
        metavar="SHARE",
        help=rf"{words} [dim]\[default: {default}][/]",
        show_default=False,
        rich_help_panel="Limits",
    )


EceLimit = Annotated[float | None, _limit("How much ECE may rise.", "0.5%")]
AeceLimit = Annotated[float | None, _limit("How much AECE may rise.", "0.5%")]
AccuracyLimit = Annotated[float | None, _limit("How much accuracy may fall.", "0.5%")]
FlipsLimit = Annotated[float | None, _limit("On how many faces the emotion may change.", "2%")]


def chosen_limits(
    ece: float | None, aece: float | None, accuracy: float | None, flips: float | None
) -> "Limits":
    from dataclasses import replace

    from calib.limits import DEFAULT_LIMITS

    given = {"ece": ece, "aece": aece, "accuracy": accuracy, "flips": flips}
    return replace(
        DEFAULT_LIMITS, **{name: limit for name, limit in given.items() if limit is not None}
    )
