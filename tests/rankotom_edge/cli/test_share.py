import pytest
import typer

from rankotom_edge.cli.share import parse_share


@pytest.mark.parametrize(
    ("text", "value"), [("0.5%", 0.005), ("0.005", 0.005), ("0", 0.0), ("3 %", 0.03), (" 1 ", 1.0)]
)
def test_a_share_is_a_fraction_or_per_cent(text: str, value: float) -> None:
    assert parse_share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["2", "-1%", "101%", "nan", "much", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a share"):
        parse_share(text)
