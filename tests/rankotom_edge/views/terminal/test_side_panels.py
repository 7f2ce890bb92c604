from io import StringIO

from rich.console import Console

from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.controls import KEYS, Controls
from rankotom_edge.views.terminal.side_panels import side_panel


def test_the_help_leaves_out_the_keys_that_can_do_nothing(reliability: Reliability) -> None:
    controls = Controls(help=True, absent=("r", "c", "v"))
    console = Console(file=StringIO(), record=True, width=80)
    helping = side_panel(None, (), controls, reliability, room=(38, 20), colours=True)
    assert helping is not None
    console.print(helping.body)
    helped = console.export_text()
    for key, words in KEYS.items():
        assert (words in helped) is (key not in ("r", "c", "v"))
    assert "a small picture" in helped
