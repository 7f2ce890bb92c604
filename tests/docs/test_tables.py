"""The tables of the documents: numbers as text, and the same numbers as in the model files."""

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def tables(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("tables")


def test_the_documents_tables_are_what_the_model_files_say(tables: ModuleType) -> None:
    for document in tables.DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        assert "<!-- end -->" in text
        assert tables.update_tables(text) == text, f"{document.name}: run make pictures"


def test_a_table_is_replaced_and_the_text_around_it_stays(tables: ModuleType) -> None:
    updated = tables.update_tables("before\n<!-- metrics -->\nold\n<!-- end -->\nafter\n")
    assert updated.startswith("before\n<!-- metrics -->\n| | measured |")
    assert updated.endswith("|\n<!-- end -->\nafter\n")
    assert "old" not in updated


def test_a_value_has_the_digits_and_the_unit_of_its_metric(tables: ModuleType) -> None:
    assert tables.value_text("accuracy", 0.8768) == "87.7 %"
    assert tables.value_text("ece", 0.01234) == "1.23 %"
    assert tables.value_text("nll", 0.45678) == "0.457"
    assert tables.value_text("mce50", None) == "–"
