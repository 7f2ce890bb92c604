"""How the help pages look: no types next to flags, and the example on a line of its own."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from rankotom_edge.cli.option_groups import expand_groups


class CommandPage(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))


class OverviewPage(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """With the purpose alone: the example would be a second line in a shell's menu."""
        found = super().shell_complete(ctx, incomplete)
        for item in found:
            item.help = item.help and item.help.partition("\n")[0]
        return found


def without_types(parameters: list[Any]) -> list[Any]:
    """typer 0.29 prints <bool> next to every flag and <str> next to a named argument."""
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

    Both appear in the list of commands. On the command's own page a blank line separates them,
    or typer would join the two lines.
    """
    page = inspect.getdoc(command) or ""
    opening = page.partition("\n\n")[0]
    app.command(
        cls=CommandPage,
        rich_help_panel=panel,
        short_help=opening,
        help=page.replace("\n", "\n\n", 1),
    )(expand_groups(command))
