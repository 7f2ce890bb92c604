"""How a module that is run as a command ends on bad input."""

from pathlib import Path

import pytest

from calib.errors import LONGEST, RankotomError, exit_on_error


def test_an_error_is_one_line_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, exit_on_error():
        raise RankotomError("No LFW in /data.")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "error: No LFW in /data.\n"


def test_a_file_that_cannot_be_opened_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, exit_on_error():
        (tmp_path / "missing").open()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/missing: No such file or directory\n"


def test_a_bug_keeps_its_traceback_and_success_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), exit_on_error():
        _ = 1 / 0
    with exit_on_error():
        done = True
    assert done


def test_what_a_damaged_file_holds_does_not_fill_the_screen() -> None:
    words = str(RankotomError(f"The format is {'x' * 100_000}. Export it again."))
    assert len(words) < LONGEST + 10
    assert words.startswith("The format is x")
    assert words.endswith("Export it again.")


def test_a_name_in_an_error_cannot_act_on_the_terminal() -> None:
    assert str(RankotomError("There is no \x1b[31mred.")) == "There is no \\x1b[31mred."
