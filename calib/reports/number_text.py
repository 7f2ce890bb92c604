"""Numbers as text: metrics, changes and intervals, in per cent or points."""

from calib.intervals import Interval
from calib.metrics import LARGE_BIN

# The name of each metric on screen, and its decimals in per cent; None: not a share. ECE and AECE
# are judged in tenths of a per cent, so they are shown in hundredths.
NAMES: dict[str, tuple[str, int | None]] = {
    "accuracy": ("accuracy", 1),
    "mean_recall": ("mean recall", 1),
    "ece": ("ECE", 2),
    "aece": ("AECE", 2),
    "smooth_ece": ("smooth ECE", 2),
    "mce": ("MCE", 1),
    "mce50": (f"MCE, {LARGE_BIN}+", 1),
    "classwise_ece": ("class-wise ECE", 2),
    "nll": ("NLL", None),
    "brier": ("Brier", None),
    "top2_match": ("blend match", 1),
    "vote_distance": ("distance to votes", 1),
    "flips": ("flips", 1),
}


def faces_text(count: int) -> str:
    return "1 face" if count == 1 else f"{count:,} faces"


def percent(fraction: float | None, digits: int = 1) -> str:
    return "–" if fraction is None else f"{100 * fraction:.{digits}f} %"


def points(change: float | None, digits: int = 1) -> str:
    """A difference of two percentages, with its sign; the minus is as wide as the plus."""
    if change is None:
        return "–"
    rounded = round(100 * change, digits) + 0.0
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def value_text(value: float | None, digits: int | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if digits is None else percent(value, digits)


def interval_text(interval: Interval | None, digits: int | None) -> str:
    if interval is None:
        return ""
    scale, places = (1, 3) if digits is None else (100, digits)
    return f"{scale * interval.low:.{places}f}–{scale * interval.high:.{places}f}"


def signed_text(change: float, digits: int | None) -> str:
    return points(change / 100, 3) if digits is None else points(change, digits)


def signed_interval(interval: Interval | None, digits: int | None) -> str:
    if interval is None:
        return ""
    return f"{signed_text(interval.low, digits)} … {signed_text(interval.high, digits)}"
