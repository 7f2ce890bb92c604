"""``rankotom-edge models``: the available models and their cards."""

from typing import Annotated

import typer

from rankotom_edge.cli.output import JsonTarget, show, write_json


def models(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="Models to show in full: embedded names or [bold].onnx[/] files.",
            show_default=False,
        ),
    ] = None,
    json: JsonTarget = None,
) -> None:
    """The available models, and what their model cards say.
    [dim]rankotom-edge models ferplus-fp32[/]

    Without a name, a table of the embedded models. With one, all that its file
    says: labels, crop, temperature, recipe, data and metrics.
    """
    from rich.console import Group

    from rankotom_edge.cli.model_report import card_report, overview
    from rankotom_edge.model.artifact import embedded_models, load_artifact, read_artifact

    if named:
        found = [load_artifact(name) for name in named]
    else:
        found = [read_artifact(path) for path in embedded_models().values()]
    show(Group(*map(card_report, found)) if named else overview(found), json)
    if json is not None:
        write_json(json, {"models": [artifact.as_json() for artifact in found]})
