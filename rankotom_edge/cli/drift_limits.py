"""The limits that a drift is judged by, as options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankotom_edge.cli.share import parse_share

if TYPE_CHECKING:
    from calib.limits import Limits


def _limit(help_text: str, default: str) -> Any:
    """The defaults are those of calib.limits.Limits, which --help must not import."""
    return typer.Option(
        parser=parse_share,
        metavar="SHARE",
        help=rf"{help_text} [dim]\[default: {default}][/]",
        show_default=False,
        rich_help_panel="Limits",
    )


@dataclass(frozen=True)
class LimitOptions:
    ece_limit: Annotated[float | None, _limit("How much ECE may rise.", "0.5%")] = None
    aece_limit: Annotated[float | None, _limit("How much AECE may rise.", "0.5%")] = None
    accuracy_limit: Annotated[float | None, _limit("How much accuracy may fall.", "0.5%")] = None
    flips_limit: Annotated[
        float | None, _limit("On what share of the faces the emotion may change.", "2%")
    ] = None

    def limits(self) -> Limits:
        from calib.limits import DEFAULT_LIMITS

        given = {
            "ece": self.ece_limit,
            "aece": self.aece_limit,
            "accuracy": self.accuracy_limit,
            "flips": self.flips_limit,
        }
        return replace(
            DEFAULT_LIMITS, **{name: limit for name, limit in given.items() if limit is not None}
        )
