"""Options that belong together are the fields of a dataclass, and a command takes it whole.

typer knows only single parameters, so ``expand_groups`` shows it every field as an option.
"""

import glob
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from calib.errors import RankotomError

# Beside an option's type in its ``Annotated``: the file is written.
OUTPUT = "output"
OUTPUT_FOLDER = "output folder"  # the same of a folder that new files are put into


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each field of its dataclass parameters as a parameter of its own."""
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    # Not with get_type_hints: Python 3.10's wraps what may be None, so that typer does not see what
    # stands beside the type.
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[name] = kind
            parameters += _fields_as_parameters(kind)
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))

    outputs, inputs = outputs_and_inputs(parameters)

    def run(**values: Any) -> None:
        check_finite(values)
        check_overwrites(
            [values[name] for name in outputs if values[name] not in (None, "-")],
            [values[name] for name in inputs],
        )
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def outputs_and_inputs(parameters: list[inspect.Parameter]) -> tuple[list[str], list[str]]:
    """The options that name a file to write, and those that may name a file or folder to read."""
    outputs, inputs = [], []
    for each in parameters:
        kind, *beside = get_args(each.annotation) or (each.annotation,)
        if OUTPUT in beside:
            outputs.append(each.name)
        elif OUTPUT_FOLDER not in beside and {str, Path, list[str]} & {kind, *get_args(kind)}:
            inputs.append(each.name)
    return outputs, inputs


def check_finite(values: Mapping[str, Any]) -> None:
    """Python reads nan and inf as numbers, and no option has a use for them."""
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise typer.BadParameter(f"--{name.replace('_', '-')} takes a number, not {value}")


def check_overwrites(outputs: Iterable[object], inputs: Iterable[object]) -> None:
    """No command writes over what it reads: a file that is named for both, or one inside a folder
    that is read."""
    written = [path for path in map(Path, map(str, outputs)) if path.exists()]
    if not written:
        return
    named = [each for given in inputs for each in (given if isinstance(given, list) else [given])]
    for each in (str(each) for each in named if each is not None):
        path = _path(each)
        for read, written_to in product(glob.glob(path, recursive=True) or [path], written):
            if is_inside(written_to, Path(read)):
                raise RankotomError(
                    f"{written_to} is not written: this command reads {each}, and it would write "
                    "over it. Name another file."
                )


def _path(given: str) -> str:
    """As ``sources.source_parser`` reads it, which takes too long to import for every command."""
    if not given.strip().startswith("file://"):
        return os.path.expanduser(given)
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(given.strip()).path)


def is_inside(path: Path, read: Path) -> bool:
    try:
        return any(place.samefile(read) for place in (path, *path.resolve().parents))
    except (OSError, ValueError):  # one of them does not exist
        return False


def given_options(group: Any) -> list[str]:
    """The options of a group that differ from their defaults, as they are typed: ``--no-video``."""
    return [
        f"--{field.name.replace('_', '-')}"
        for field in fields(group)
        if getattr(group, field.name) != field.default
    ]


def _fields_as_parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
