"""Reads fields of JSON that was stored: each is checked, and a wrong one is a ValueError."""

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

from calib.intervals import Interval
from calib.metrics import Bin
from calib.resampling import Floor

MOST = 2**53  # a count beyond it is damage
MAX_TEXT = 4096  # characters


def load_json(text: str | bytes) -> Any:
    """Raises ValueError for what JSON does not have, though Python reads it or fails otherwise:
    NaN, Infinity, 1e999, and brackets nested too deep."""
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits:.20} is not a finite number")
    return number


def as_mapping(saved: object) -> Mapping[str, Any]:
    if not isinstance(saved, Mapping):
        raise ValueError(f"{saved!r} is not a JSON object")
    return saved


def as_list(saved: object) -> list[Any]:
    if not isinstance(saved, list):
        raise ValueError(f"{saved!r} is not a list")
    return saved


def number(saved: Mapping[str, Any], name: str) -> float:
    """Python's JSON also reads NaN, Infinity, and integers beyond any float: refuse them."""
    value = saved[name]
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} is {value!r}, not a number")
    return float(value)


def number_or_none(saved: Mapping[str, Any], name: str) -> float | None:
    return None if saved.get(name) is None else number(saved, name)


def count(saved: Mapping[str, Any], name: str) -> int:
    value = saved[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise ValueError(f"{name} is {value!r:.40}, not a count")
    return value


def count_or_none(saved: Mapping[str, Any], name: str) -> int | None:
    return None if saved.get(name) is None else count(saved, name)


def share(saved: Mapping[str, Any], name: str) -> float:
    value = number(saved, name)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value!r}, not from 0 to 1")
    return value


def flag(saved: Mapping[str, Any], name: str) -> bool:
    value = saved.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}, not true or false")
    return value


def text(saved: Mapping[str, Any], name: str) -> str:
    """One line that can be printed: an escape sequence would act on the terminal."""
    value = saved[name]
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise ValueError(f"{name} is {value!r:.40}, not a line of printable characters")
    return value


def text_or_none(saved: Mapping[str, Any], name: str) -> str | None:
    return None if saved.get(name) is None else text(saved, name)


def interval(saved: object) -> Interval | None:
    if saved is None:
        return None
    ends = dict(zip(("low", "high"), as_list(saved), strict=True))
    found = Interval(number(ends, "low"), number(ends, "high"))
    if found.low > found.high:
        raise ValueError(f"the interval {saved!r} ends before it starts")
    return found


def floor(saved: object) -> Floor | None:
    if saved is None:
        return None
    return Floor(mean=number(as_mapping(saved), "mean"), p95=number(as_mapping(saved), "p95"))


def reliability_bin(saved: Mapping[str, Any]) -> Bin:
    faces = count(saved, "count")
    return Bin(
        low=number(saved, "low"),
        high=number(saved, "high"),
        count=faces,
        confidence=number(saved, "confidence") if faces else None,
        accuracy=number(saved, "accuracy") if faces else None,
    )
