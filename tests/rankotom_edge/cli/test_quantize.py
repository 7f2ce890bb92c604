"""The bar of ``export --int8``, as text."""

import io

from rich.console import Console

from export.search import int8_steps
from export.steps import Steps
from rankotom_edge.cli.quantize import step_line, time_words


def printed(steps: Steps) -> str:
    console = Console(file=io.StringIO(), record=True, width=100)
    console.print(step_line(steps))
    return console.export_text().strip()


def test_each_step_has_its_number_and_its_name_and_soon_the_time_that_is_left() -> None:
    now = 0.0
    steps = Steps(lambda: now)
    steps.expect({"running the parent": 10, **int8_steps()})
    lines = []
    for words in ("running the parent", *int8_steps()):
        steps.begin(words)
        lines.append(printed(steps))
        now += 10
    count = len(lines)
    assert all(line.startswith(f"step {n} of {count} ") for n, line in enumerate(lines, 1))
    assert all(
        line.endswith(f" {words}") for words, line in zip(int8_steps(), lines[1:], strict=True)
    )
    assert [" left " in line for line in lines] == [False] + [True] * (count - 1)


def test_the_time_left_is_told_in_the_unit_that_a_person_would_use() -> None:
    assert time_words(None) == ""
    assert time_words(75) == "75 s left"
    assert time_words(240) == "4 min left"
