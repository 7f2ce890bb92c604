"""``camera --view web``: its options, the port and the page."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.option_groups import given_options
from rankotom_edge.closing import Closing

if TYPE_CHECKING:
    from rankotom_edge.labelling.labelling import Labelling
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.own_calibration import SavedCalibration
    from rankotom_edge.publish.prometheus import PrometheusSink
    from rankotom_edge.views.web.address import Address
    from rankotom_edge.views.web.view import WebView

WEB = "The page of --view web"


@dataclass(frozen=True)
class PageOptions:
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help=(
                "The address to serve on. 127.0.0.1 is open to every user of this machine; any "
                "that other machines reach requires a token, which is part of the printed link. "
                r"[dim]\[default: 127.0.0.1][/]"
            ),
            rich_help_panel=WEB,
        ),
    ] = None
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            help=r"The port to serve on; 0 is any free one. [dim]\[default: 8000][/]",
            rich_help_panel=WEB,
        ),
    ] = None
    token: Annotated[
        bool,
        typer.Option(
            "--token",
            help="Require a token on 127.0.0.1 too, where other users of this machine could look.",
            rich_help_panel=WEB,
        ),
    ] = False
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the token in this file, made if missing, so that the link stays the same.",
            rich_help_panel=WEB,
        ),
    ] = None

    tls_cert: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Serve over HTTPS, with this certificate (PEM).",
            rich_help_panel=WEB,
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The certificate's key, unless it is in the same file.",
            rich_help_panel=WEB,
        ),
    ] = None

    def check_unused(self) -> None:
        """For the other views, which have no use for these options."""
        for name in given_options(self):
            raise typer.BadParameter(f"{name} is for --view web")

    def reserve_port(self, video: bool = True) -> ReservedPort:
        """Called before a camera is opened: a port in use or a missing package shows at once."""
        with extra("web"):
            import rankotom_edge.publish.prometheus
            import rankotom_edge.views.web.view  # noqa: F401
            from rankotom_edge.views.web.address import HOST, PORT, Access, listen

        if self.tls_key is not None and self.tls_cert is None:
            raise typer.BadParameter("--tls-key needs --tls-cert FILE, the certificate of the key")
        access = Access(self.token, self.token_file, self.tls_cert, self.tls_key)
        host = HOST if self.host is None else self.host
        port = PORT if self.port is None else self.port
        return ReservedPort(listen(host, port, access), video)


@dataclass(frozen=True)
class WebOptions(PageOptions):
    no_video: Annotated[
        bool,
        typer.Option("--no-video", help="Serve numbers without pictures.", rich_help_panel=WEB),
    ] = False


class ReservedPort(Closing):
    """A port that this process listens on, and serves the page on once the model is known."""

    def __init__(self, address: Address, video: bool) -> None:
        self._address, self._video = address, video

    def open_page(
        self, artifact: Artifact, metrics: PrometheusSink, own: SavedCalibration | None = None
    ) -> WebView:
        from rankotom_edge.views.web.routes import Site
        from rankotom_edge.views.web.view import WebView

        model, card = artifact.as_json() | {"file": artifact.path.name}, artifact.card
        document = model | {"calibration": None if own is None else own.summary()}
        measured = card if own is None else own.measured_model(card)
        view = WebView(self._address, Site(measured, document, metrics, self._video))
        for link in self._address.links:
            print(f"The page: {link}", file=sys.stderr, flush=True)
        for link in self._address.viewer_links:
            print(f"Only to watch: {link}", file=sys.stderr, flush=True)
        return view

    def open_labelling_page(self, labelling: Labelling) -> None:
        """Returns when the rater has finished."""
        from rankotom_edge.labelling.web.label import label_in_browser

        label_in_browser(
            labelling,
            self._address,
            lambda link: print(f"Label here: {link}", file=sys.stderr, flush=True),
        )

    def close(self) -> None:
        self._address.socket.close()


def prometheus_metrics(artifact: Artifact) -> PrometheusSink:
    from rankotom_edge.publish.prometheus import PrometheusSink

    card = artifact.card
    edges = [bin_.high for bin_ in card.evaluation.reliability]
    return PrometheusSink(card.name, card.precision, artifact.sha256, edges)
