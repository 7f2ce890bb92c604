import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from rankotom_edge.cli.option_groups import expand_groups, given_options

# Every command that reads a file and writes another; IN is read, OUT is written.
WRITERS = (
    "evaluate IN --json OUT",
    "evaluate IN --plot OUT",
    "evaluate IN --save-predictions OUT",
    "drift IN other.npz --json OUT",
    "drift other.npz IN --plot OUT",
    "models IN --json OUT",
    "camera --source IN --json OUT",
    "camera --source IN --summary OUT",
    "camera --model IN --json OUT",
    "camera --view web --tls-key IN --json OUT",
    "replay sessions --model IN --json OUT",
    "export IN --int8 --output OUT",
    "export IN --int8 --json OUT",
    "calibrate faces --model IN --json OUT",
    "analyze IN --json OUT",
    "bench --source IN --json OUT",
    "bench --against IN --plot OUT",
    "doctor --source IN --json OUT",
    "train edge-ferplus --weights IN --json OUT",
)
SUFFIXES = {
    "--plot": ".png",
    "--summary": ".png",
    "--save-predictions": ".npz",
    "--output": ".onnx",
}


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


@pytest.mark.parametrize("source", ["file://{}/a%20b.jpg", " file://{}/a%20b.jpg", "{}/**/*.jpg"])
def test_a_source_by_url_or_by_glob_is_not_written_over(
    run: Callable[..., Any], tmp_path: Path, source: str
) -> None:
    kept = tmp_path / "a b.jpg"
    kept.write_text("what must stay")
    finished = run("camera", "--source", source.format(tmp_path), "--json", kept)
    assert (finished.returncode, kept.read_text()) == (2, "what must stay")
    assert "it would write over it" in finished.stderr


def test_two_outputs_of_a_run_are_two_files(run: Callable[..., Any], tmp_path: Path) -> None:
    one, same = tmp_path / "x.png", f"{tmp_path}/../{tmp_path.name}/x.png"
    finished = run("camera", "--source", "demo", "--frames", "1", "--json", one, "--summary", same)
    assert finished.returncode == 2
    assert "named for two outputs" in finished.stderr


@pytest.mark.parametrize("how", ["same", "symlink", "hard link", "another way"])
@pytest.mark.parametrize("writer", WRITERS)
def test_no_command_writes_over_what_it_reads(
    run: Callable[..., Any], tmp_path: Path, writer: str, how: str
) -> None:
    words = writer.split()
    suffix = SUFFIXES.get(words[-2], ".json")
    read = tmp_path / f"read{suffix}"
    read.write_text("what must stay")
    written = tmp_path / f"written{suffix}"
    match how:
        case "same":
            written = read
        case "symlink":
            written.symlink_to(read)
        case "hard link":
            os.link(read, written)
        case "another way":
            (tmp_path / "folder").mkdir()
            written = tmp_path / "folder" / ".." / read.name
    named = {"IN": str(read), "OUT": str(written)}
    finished = run(*(named.get(word, word) for word in words))
    assert finished.returncode == 2
    assert "it would write over it" in finished.stderr
    assert read.read_text() == "what must stay"


def test_a_file_inside_a_folder_that_is_read_is_not_written(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    kept = tmp_path / "session" / "readings.jsonl"
    kept.parent.mkdir()
    kept.write_text("{}")
    finished = run("replay", str(kept.parent), "--model", "ferplus-int8", "--json", str(kept))
    assert (finished.returncode, kept.read_text()) == (2, "{}")


@pytest.mark.parametrize(
    "words",
    [
        "camera --threads 99999999999999999999",
        "camera --threads 100000",
        "camera --seconds nan",
        "camera --seconds inf",
        "camera --frames 0",
        "camera --max-pause 1e999",
        "camera --source ~nouser/x",
        "camera --source demo --model ~nouser/x",
        "doctor --timeout inf",
        "doctor --timeout nan",
        "evaluate x.npz --resamples 99999999999999999999",
        "evaluate ~nouser/x.npz",
        "evaluate x.npz --seed 99999999999999999999",
        "replay ~nouser/x",
        "export ~nouser/x --output x.onnx",
        "train edge-ferplus --threads 99999999999999999999",
        "train edge-ferplus --data ~nouser/x",
        "calibrate ~nouser/x --for 0 --dry-run",
        "bench --frames 99999999999999999999",
        "analyze ~nouser/x",
    ],
)
def test_numbers_without_bounds_and_homes_of_nobody_are_bad_usage_at_once(
    run: Callable[..., Any], words: str
) -> None:
    finished = run(*words.split())
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr
    assert "rror" in finished.stderr
