"""Without a view, only the loss of a source and its return are printed."""

from typing import Any

import pytest

from rankotom_edge.sources import State
from rankotom_edge.views.no_view import NoView


def test_a_loss_and_the_return_are_notes_on_standard_error(
    showing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    view = NoView()
    for state in (State("lost", "lost: opening it again"), State("playing", "playing again")):
        view.show(showing.display(None, state=state))
    view.show(showing.display(None, state=State("ended", "ended")))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "note: camera 0: lost: opening it again",
        "note: camera 0: playing again",
    ]


def test_it_has_no_keys_and_never_closes() -> None:
    view = NoView()
    assert view.key() is None
    assert not view.closed
    assert not view.interactive
