import pytest
import typer

from calib.errors import RankotomError
from rankotom_edge.cli import view_options
from rankotom_edge.cli.view_options import ViewOptions, exit_statuses, open_view, print_summary
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.sources import State, open_source
from rankotom_edge.views.no_view import NoView
from rankotom_edge.views.terminal.lines import LinesView

CARD = load_artifact("ferplus-fp32").card


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def test_a_view_that_is_named_is_taken() -> None:
    assert ViewOptions(view="web").resolve() == "web"
    assert ViewOptions(view="none").resolve("-") == "none"


@pytest.mark.usefixtures("no_screen")
def test_without_a_screen_auto_is_the_terminal_unless_json_takes_it() -> None:
    assert ViewOptions().resolve() == "terminal"
    assert ViewOptions().resolve("readings.jsonl") == "terminal"
    assert ViewOptions().resolve("-") == "none"


@pytest.mark.usefixtures("no_screen")
def test_a_window_without_a_screen_is_an_error() -> None:
    with pytest.raises(RankotomError, match="no screen"):
        ViewOptions(view="window").resolve()


def test_the_terminal_view_and_json_on_standard_output_exclude_each_other() -> None:
    with pytest.raises(typer.BadParameter, match="--view none"):
        ViewOptions(view="terminal").resolve("-")


def test_the_view_is_opened_by_name() -> None:
    with open_view("none", CARD, picture=False) as view:
        assert isinstance(view, NoView)
    with open_view("terminal", CARD, picture=False) as view:  # pytest's output is no terminal
        assert isinstance(view, LinesView)
    with pytest.raises(typer.BadParameter, match="only camera"), open_view("web", CARD, False):
        pass


def test_an_interrupt_is_130_and_a_reader_that_goes_away_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(typer.Exit) as ended, exit_statuses():
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    dropped: list[bool] = []
    monkeypatch.setattr(view_options, "drop_output", lambda: dropped.append(True))
    with exit_statuses():
        raise BrokenPipeError
    assert dropped == [True]


@pytest.mark.parametrize("problems_only", [False, True])
def test_the_summary_names_what_went_wrong_with_the_source(
    problems_only: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_source("demo") as source:
        monkeypatch.setattr(type(source), "state", State("ended", "ended: 1 of 2 images missing"))
        print_summary(RunStats(0.0), source, problems_only=problems_only)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith(": 1 of 2 images missing")
    assert len(lines) == (1 if problems_only else 2)
