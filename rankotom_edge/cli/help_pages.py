"""How the help pages look: no types where there is nothing to type, and the example on its own."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class CommandPage(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))


class OverviewPage(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))


def without_types(parameters: list[Any]) -> list[Any]:
    """typer 0.29 writes <bool> beside every flag and <str> beside an argument that has a name."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type
        elif parameter.is_flag:
            parameter.metavar = ""
    return parameters


def _no_type(ctx: Any) -> None:
    return None


def add_command(app: typer.Typer, panel: str, command: Callable[..., None]) -> None:
    """The docstring opens with the purpose and, on the next line, an example.

    Both stand in the list of commands. On the command's own page typer would run the two
    together; there a blank line is between them.
    """
    page = inspect.getdoc(command) or ""
    opening = page.partition("\n\n")[0]
    app.command(
        cls=CommandPage,
        rich_help_panel=panel,
        short_help=opening,
        help=page.replace("\n", "\n\n", 1),
    )(command)
