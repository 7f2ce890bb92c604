"""A site behind the guard: the files of its page, what all pages share, and its own addresses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.security import PAGE, RequestGuard

if TYPE_CHECKING:
    from importlib.abc import Traversable

INDEX, REFUSED = "index.html", "refused.html"
SHARED = ("style.css", "icon.svg")
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def guarded_site(
    files: Iterable[Traversable],
    routes: Iterable[BaseRoute],
    address: Address,
    viewers: bool = False,
) -> RequestGuard:
    """``files``: the page, which is called index.html, and its scripts and styles. ``viewers``:
    whether the viewers' link opens it."""
    common = resources.files("rankotom_edge.views.web") / "page"
    served = [_file(path) for path in (*files, *(common / name for name in SHARED))]
    refused = (common / REFUSED).read_text(encoding="utf-8")
    return RequestGuard(Starlette(routes=[*served, *routes]), address, refused, viewers)


def _file(path: Traversable) -> Route:
    where = PAGE if path.name == INDEX else f"/{path.name}"
    return Route(where, _serve(path.read_bytes(), KINDS[PurePath(path.name).suffix]))


def _serve(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return Response(content, media_type=kind)

    return serve
