from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer
from typer.testing import CliRunner

from rankotom_edge.cli.option_groups import expand_groups, given_options


@dataclass(frozen=True)
class Colours:
    ink: Annotated[Literal["black", "blue"], typer.Option(help="The ink.")] = "black"
    no_paper: Annotated[bool, typer.Option("--no-paper")] = False


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option()]


def invoke(*arguments: str) -> tuple[int, str, list[Any]]:
    received: list[Any] = []

    def draw(*, name: Annotated[str, typer.Argument()], size: Size, colours: Colours) -> None:
        """Draws."""
        received.extend((name, size, colours))

    app = typer.Typer()
    app.command()(expand_groups(draw))
    finished = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, list(arguments))
    return finished.exit_code, finished.output, received


def test_the_fields_of_a_group_are_options_and_the_command_gets_the_group() -> None:
    status, _, received = invoke("house", "--width", "3", "--ink", "blue", "--no-paper")
    assert status == 0
    assert received == ["house", Size(3), Colours("blue", True)]


def test_options_that_are_left_out_have_the_fields_defaults() -> None:
    assert invoke("house", "--width", "3")[2] == ["house", Size(3), Colours()]


def test_a_field_without_a_default_is_required() -> None:
    status, output, received = invoke("house")
    assert (status, received) == (2, [])
    assert "--width" in output


def test_a_word_that_is_not_in_the_literal_is_bad_usage() -> None:
    status, output, _ = invoke("house", "--width", "3", "--ink", "green")
    assert status == 2
    assert "'green' is not one of 'black', 'blue'" in " ".join(output.replace("│", " ").split())


def test_help_shows_the_options_of_a_group() -> None:
    status, output, _ = invoke("--help")
    assert status == 0
    assert "The ink." in output
    assert "Draws." in output


def test_options_that_differ_from_their_defaults_are_given() -> None:
    assert given_options(Colours()) == []
    assert given_options(Colours("blue", no_paper=True)) == ["--ink", "--no-paper"]
