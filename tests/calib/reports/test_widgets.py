"""The parts of a report, as wide as they may be and on terminals of every kind."""

from io import BytesIO, StringIO, TextIOWrapper

from rich.console import Console, RenderableType
from rich.text import Text

from calib.reports.widgets import ASCII, FirstThatFits, Mark, Report, panel, plain_table


def printed(report: RenderableType, width: int = 40) -> str:
    output = StringIO()
    Console(file=output, width=width, color_system=None).print(report)
    return output.getvalue()


def printed_in_ascii(report: RenderableType) -> str:
    output = TextIOWrapper(BytesIO(), encoding="ascii", errors="strict")
    Console(file=output, width=40, color_system=None).print(report)
    output.seek(0)
    return output.read()


def test_a_mark_is_a_word_where_there_is_no_unicode() -> None:
    report = Report((Mark(True, after=" kept"), Mark(False, before="limit ")))
    assert printed(report).split() == ["✓", "kept", "limit", "✗"]
    assert printed_in_ascii(report).split() == ["ok", "kept", "limit", "NO"]


def test_a_report_can_be_printed_in_ascii() -> None:
    glyphs = "".join(map(chr, ASCII))
    text = printed_in_ascii(Report((panel(True, "Yes", ["−1.0 … +2.0"]), Text(glyphs))))
    assert "ok Yes" in text
    assert "-1.0 . +2.0" in text
    assert "?" not in text


def test_only_names_give_way_where_a_table_is_too_wide() -> None:
    table = plain_table(("", "left"), ("accuracy", "right"), ("faces", "right"))
    table.add_row("fearfully surprised", "−12.34 points", "1,234,567")
    text = printed(table, width=36)
    assert "−12.34 points" in text
    assert "1,234,567" in text
    assert {"fearfully", "surprised"} <= set(text.split())
    assert max(map(len, text.splitlines())) <= 36


def test_the_first_table_that_fits_is_shown_and_the_last_where_none_does() -> None:
    wide, narrow = plain_table(("wide", "right")), plain_table(("narrow", "right"))
    wide.add_row("x" * 30)
    narrow.add_row("y" * 10)
    both = FirstThatFits((wide, narrow))
    assert "wide" in printed(both, width=32)
    assert "narrow" in printed(both, width=20)
    assert "narro" in printed(both, width=8)
