"""Every experiment is a command, and its docstring says which."""

import importlib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import train.experiments

NAMES = [
    f"train.experiments.{file.stem}"
    for file in sorted(Path(train.experiments.__file__).parent.glob("*.py"))
    if file.stem != "__init__"
]


@pytest.mark.parametrize("name", NAMES)
def test_an_experiments_docstring_has_its_command_and_the_command_has_help(name: str) -> None:
    experiment = importlib.import_module(name)
    assert experiment.__doc__ is not None
    assert f"    python -m {name}" in experiment.__doc__
    app = typer.Typer()
    app.command()(experiment.main)
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert experiment.main.__doc__ is not None
    assert "data" in shown.output
