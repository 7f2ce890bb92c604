"""``camera --view web``: its options, and the way from a port to a page that is served."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.view_options import ViewName
from rankotom_edge.closing import Closing

if TYPE_CHECKING:
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.publish.prometheus import PrometheusMetrics
    from rankotom_edge.views.web.address import Address
    from rankotom_edge.views.web.view import WebView

WEB = "The page of --view web"

HostOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST",
        help=(
            "Where it is served. Any but this machine's own gets a token, and the link with it is "
            r"printed once. [dim]\[default: 127.0.0.1][/]"
        ),
        rich_help_panel=WEB,
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        metavar="N",
        help=r"0 is any that is free. [dim]\[default: 8000][/]",
        rich_help_panel=WEB,
    ),
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Keep the token here, so that it is the same at each start; made where there is none.",
        rich_help_panel=WEB,
    ),
]
NoVideoOption = Annotated[
    bool,
    typer.Option("--no-video", help="Serve numbers, and no picture.", rich_help_panel=WEB),
]


class Serving(Closing):
    """A port that is ours, and later the page on it."""

    def __init__(self, address: Address, video: bool) -> None:
        self._address, self._video = address, video

    def open(self, artifact: Artifact, metrics: PrometheusMetrics) -> WebView:
        from rankotom_edge.views.web.routes import Site
        from rankotom_edge.views.web.view import WebView

        card = artifact.card
        meta = artifact.as_json() | {"file": artifact.path.name}
        site = Site(card, meta, metrics, self._video)
        view = WebView(self._address, site)
        for link in self._address.links:
            print(f"The page: {link}", file=sys.stderr, flush=True)
        return view

    def close(self) -> None:
        self._address.socket.close()


def take_port(
    shown: ViewName, host: str | None, port: int | None, token_file: Path | None, no_video: bool
) -> Serving | None:
    """Before a camera is opened: a port in use, or a missing package, is told at once."""
    if shown is not ViewName.web:
        given_options = {
            "--host": host,
            "--port": port,
            "--token-file": token_file,
            "--no-video": no_video or None,
        }
        for name, given in given_options.items():
            if given is not None:
                raise typer.BadParameter(f"{name} is for --view web")
        return None
    with extra("web"):
        import rankotom_edge.publish.prometheus
        import rankotom_edge.views.web.view  # noqa: F401
    from rankotom_edge.views.web.address import HOST, PORT, listen

    address = listen(HOST if host is None else host, PORT if port is None else port, token_file)
    return Serving(address, video=not no_video)


def count(artifact: Artifact) -> PrometheusMetrics:
    from rankotom_edge.publish.prometheus import PrometheusMetrics

    card = artifact.card
    edges = [bin_.high for bin_ in card.evaluation.reliability]
    return PrometheusMetrics(card.name, card.precision, artifact.sha256, edges)
