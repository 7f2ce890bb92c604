"""Who may come in: checked before anything else looks at a request.

Against another web site in the same browser (DNS rebinding, cross-site requests): Host, Origin and
Fetch Metadata. Against another machine: the token. Against either: no bodies, and headers that let
the page load nothing but its own files.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rankotom_edge.views.web.address import Address

PAGE = "/"
HOST_HEADER = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::\d+)?")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
# Not a redirect: of one that a link in a mail began, a browser holds back a Strict cookie. A page
# that moves on by itself began its own visit, and its address is gone from the history.
WELCOME = (
    '<!doctype html><title>rankotom-edge</title><meta http-equiv="refresh" content="0; url=/">'
)


class Gate:
    def __init__(self, app: ASGIApp, address: Address, refused_page: str) -> None:
        self._app, self._address, self._refused_page = app, address, refused_page
        # Cookies know no ports: two of us on one machine must not take each other's away.
        self._cookie = f"rankotom-{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(scope) or self._welcome(scope)
        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "POST"):
            return _refused(405, "only GET, and POST for keys", {"allow": "GET, POST"})
        if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
            return _refused(413, "a request takes no body here", {"connection": "close"})
        if not self._address.admits(host_name(headers.get("host", ""))):
            return _refused(403, "this name is not this machine's; open it by its address")
        if not same_origin(headers, scope["method"], scope["path"]):
            return _refused(403, "another site asks")
        if self._address.token is None or self._has_token(scope, headers, self._address.token):
            return None
        asked = {"www-authenticate": "Bearer"}
        if scope["path"] == PAGE:
            return HTMLResponse(self._refused_page, 401, headers=asked)
        return _refused(401, "this needs the token of the link that the program printed", asked)

    def _has_token(self, scope: Scope, headers: Headers, token: str) -> bool:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        offered = [bearer.strip()] if kind.lower() == "bearer" else []
        offered += [value for name, value in _cookies(headers) if name == self._cookie]
        if scope["path"] == PAGE:
            offered += [_query_token(scope)]
        # Each is compared, so that the time tells nothing of which was there.
        answers = [secrets.compare_digest(each.encode(), token.encode()) for each in offered]
        return any(answers)

    def _welcome(self, scope: Scope) -> Response | None:
        """The first visit, by the link: its token becomes a cookie that no script can read."""
        token = self._address.token
        if token is None or scope["path"] != PAGE or scope["method"] != "GET":
            return None
        offered = _query_token(scope)
        if not secrets.compare_digest(offered.encode(), token.encode()):
            return None
        answer = HTMLResponse(WELCOME)
        answer.set_cookie(self._cookie, token, httponly=True, samesite="strict")
        return answer


def host_name(header: str) -> str:
    """The name without the port: "localhost:8000", "[::1]:8000"; nothing where it is no such."""
    found = HOST_HEADER.fullmatch(header)
    return "" if found is None else (found["literal"] or found["name"]).lower()


def same_origin(headers: Mapping[str, str], method: str, path: str) -> bool:
    """Programs send neither header, and no page can forge them. Browsers send Origin with a POST,
    and Fetch Metadata to this machine. To another address by plain HTTP a GET carries neither:
    there the Strict cookie guards it, and Cross-Origin-Resource-Policy what a page could embed.
    """
    host = headers.get("host")
    if headers.get("origin", f"http://{host}") not in (f"http://{host}", f"https://{host}"):
        return False
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    follows_link = headers.get("sec-fetch-mode") == "navigate"
    alone = headers.get("sec-fetch-dest") == "document"  # and not in a frame
    return follows_link and alone and method == "GET" and path == PAGE


def _query_token(scope: Scope) -> str:
    query: str = scope["query_string"].decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _cookies(headers: Headers) -> list[tuple[str, str]]:
    """Plainly, and each by itself: those of other programs on this host come along, and Python's
    own parser gives up at the first that it dislikes."""
    parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [(name, value) for name, _, value in parts]


def _refused(status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": words}, status, headers=headers)
