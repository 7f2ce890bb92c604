"""Every help page: narrow enough, quick, and with an example."""

import inspect
import re
import resource
from collections.abc import Callable
from typing import Any

import pytest

from rankotom_edge.cli.app import app

HEAVY = {"torch", "cv2", "mediapipe", "onnxruntime", "numpy", "matplotlib"}


def test_help_loads_nothing_heavy(loaded_modules: Callable[..., Any]) -> None:
    loaded = loaded_modules("--help")
    assert "typer" in loaded
    assert not loaded & HEAVY


def cpu_seconds(start: Callable[..., Any], *arguments: str) -> float:
    """Of the child alone, so that a busy machine makes no difference to it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start(*arguments).check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_answers_at_once(start: Callable[..., Any]) -> None:
    """Under 0.4 s on an idle machine; shared caches and hyperthreads stretch even CPU time."""
    assert min(cpu_seconds(start, "--help") for _ in range(3)) < 0.6


def test_a_commands_help_loads_nothing_heavy(loaded_modules: Callable[..., Any]) -> None:
    assert not loaded_modules("drift", "--help") & HEAVY


def test_help_shows_each_command_with_an_example(run: Callable[..., Any]) -> None:
    page = run("--help").stdout
    for command in ("evaluate", "drift"):
        assert f"rankotom-edge {command} " in page
    assert "Calibration" in page


@pytest.mark.parametrize("command", [command.callback for command in app.registered_commands])
def test_a_commands_page_fits_and_sets_its_example_apart(
    run: Callable[..., Any], command: Callable[..., None]
) -> None:
    page = run(command.__name__, "--help").stdout
    purpose, example = inspect.getdoc(command).splitlines()[:2]
    lines = [line.strip() for line in page.splitlines()]
    place = lines.index(purpose)
    assert lines[place + 1 : place + 4 : 2] == ["", ""]
    assert lines[place + 2] in example
    assert not re.search(r"<(bool|str|path|list.*)>", page)
    assert max(map(len, page.splitlines())) <= 80
