from io import StringIO

import pytest
from rich.console import Console, RenderableType

from rankotom_edge.cli.model_report import card_report, overview, recipe_words
from rankotom_edge.model import embedded
from rankotom_edge.model.artifact import load_artifact


def printed(report: RenderableType) -> str:
    console = Console(file=StringIO(), width=120)
    with console.capture() as page:
        console.print(report)
    return page.get()


def test_the_overview_has_a_row_a_model_and_says_what_they_were_measured_on() -> None:
    found = [load_artifact(name) for name in (embedded.FP32, embedded.INT8)]
    page = printed(overview(found))
    assert sum(line.startswith("ferplus-") for line in page.splitlines()) == 2
    assert page.count("Measured on ferplus/valid/report") == 1


@pytest.mark.parametrize("name", [embedded.FP32, embedded.INT8])
def test_a_quantized_model_says_what_it_is_for_and_what_it_cost(name: str) -> None:
    page = printed(card_report(load_artifact(name)))
    assert ("made for" in page) == ("its cost" in page) == (name == embedded.INT8)
    for metric in ("accuracy", "ECE", "AECE", "NLL", "Brier"):
        assert metric in page


def test_a_recipe_of_averaged_runs_names_them() -> None:
    assert recipe_words({"name": "edge"}) == "edge"
    assert recipe_words({}) == "unnamed"
    runs = [{"name": "first"}, {"name": "second"}]
    assert recipe_words({"name": "soup", "runs": runs}) == "soup, the mean of first, second"
