"""A share on the command line: ``20%``, ``20 %`` or ``0.2``."""

import typer


def parse_share(text: str) -> float:
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(
            f"{text!r} is not a share between 0 and 100 %; write 20% or 0.2, for example"
        )
    return value
