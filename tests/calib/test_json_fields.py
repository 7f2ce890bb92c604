"""Stored JSON is read field by field."""

from typing import Any

import pytest

from calib.json_fields import count, flag, load_json, number, share, text


@pytest.mark.parametrize(
    "content",
    [
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "[" * 100_000,
        '{"a":' * 100_000,
        "9" * 5000,
        "{",
        b"\xff",
    ],
)
def test_what_json_does_not_have_is_a_value_error(content: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (of many kinds)
        load_json(content)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (number, "1"), (number, True), (number, None), (number, 10**400), (number, [1]),
        (count, -1), (count, 1.0), (count, True), (count, 2**70), (share, 1.1), (share, -0.1),
        (flag, 1), (flag, "true"), (text, 1), (text, "a\x1b[31m"), (text, "a\nb"),
        (text, "x" * 5000), (text, "\ud800"),
    ],
)  # fmt: skip
def test_a_field_of_another_kind_is_a_value_error_that_names_it(read: Any, value: object) -> None:
    with pytest.raises(ValueError, match="field is"):
        read({"field": value}, "field")
