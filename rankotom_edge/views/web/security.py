"""Decides which requests are answered, before any other code sees them.

Checks Host, Origin and Fetch Metadata against other web sites in the same browser (DNS rebinding,
cross-site requests), and the token against other machines. A viewer's token sees everything and
presses nothing. No request may have a body, and the response headers let the page load nothing but
its own files.
"""

import re
import secrets
import time
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.connections import GUESS_SECONDS, Connections, Role, WrongTokens

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
CLOSE = {"connection": "close"}  # who was refused holds no connection
# Not an HTTP redirect: if a link in a mail started the visit, the browser would not send a Strict
# cookie after it. A page that moves on by itself starts a new visit, and the address with the token
# leaves the history.
REDIRECT_PAGE = (
    '<!doctype html><title>rankotom-edge</title><meta http-equiv="refresh" content="0; url=/">'
)


class RequestGuard:
    """``viewers``: whether the viewers' token is any good. A request that passes has its role in
    ``scope["role"]``."""

    def __init__(
        self, app: ASGIApp, address: Address, refused_page: str, viewers: bool = False
    ) -> None:
        self._app, self._address, self._refused_page = app, address, refused_page
        self.connections = Connections()
        self._wrong_tokens = WrongTokens()
        tokens: dict[Role, str | None] = {"owner": address.token}
        if viewers:
            tokens["viewer"] = address.viewer_token
        self._tokens = {role: token for role, token in tokens.items() if token is not None}
        # Cookies ignore ports: two programs on one machine must not overwrite each other's.
        self._cookie = f"rankotom-{address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            scope = {**scope, "method": "GET"}  # it opens with one, and obeys the same rules

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refusal(scope) or self._token_to_cookie(scope)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "POST"):
            return _refuse(405, "only GET, and POST for keys", {"allow": "GET, POST"})
        if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
            return _refuse(413, "requests with a body are not accepted")
        if not self._address.admits(host_name(headers.get("host", ""))):
            return _refuse(403, "this name is not this machine's; open it by its address")
        if not is_same_origin(headers, scope["method"], scope["path"]):
            return _refuse(403, "the request comes from another site")
        offered = self._offered(scope, headers)
        scope["role"] = "owner" if self._address.token is None else self._role_of(offered)
        if scope["role"] is None:
            return self._refuse_stranger(scope, sum(map(bool, offered)))
        if scope["role"] == "viewer" and scope["method"] != "GET":
            return _refuse(403, "this link is for watching; the owner's presses keys")
        if not self.connections.admit(scope["client"], scope["role"]):
            return _refuse(503, "too many are connected")
        return None

    def _refuse_stranger(self, scope: Scope, guesses: int) -> Response:
        asked = {"www-authenticate": "Bearer"}
        if guesses and self._wrong_tokens.add(scope["client"][0], time.monotonic(), guesses):
            wait = {"retry-after": str(int(GUESS_SECONDS))}
            return _refuse(429, "too many wrong tokens; wait a minute", wait)
        if scope["path"] == PAGE:
            return HTMLResponse(self._refused_page, 401, headers=asked | CLOSE)
        return _refuse(401, "this needs the token of the link that the program printed", asked)

    def _role_of(self, offered: Iterable[str]) -> Role | None:
        # All are compared, so that the time taken does not tell which one was right.
        matching = [
            role
            for each in offered
            for role, token in self._tokens.items()
            if secrets.compare_digest(each.encode(), token.encode())
        ]
        return min(matching, default=None)  # "owner" before "viewer"

    def _offered(self, scope: Scope, headers: Headers) -> list[str]:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        offered = [bearer.strip()] if kind.lower() == "bearer" else []
        offered += [value for name, value in _cookies(headers) if name == self._cookie]
        if scope["path"] == PAGE:
            offered.append(_query_token(scope))
        return offered

    def _token_to_cookie(self, scope: Scope) -> Response | None:
        """On the first visit by the link: its token becomes a cookie that no script can read."""
        if scope["path"] != PAGE or scope["method"] != "GET":
            return None
        offered = _query_token(scope)
        if self._role_of([offered]) is None:
            return None
        answer = HTMLResponse(REDIRECT_PAGE)
        answer.set_cookie(
            self._cookie,
            offered,
            httponly=True,
            samesite="strict",
            secure=self._address.tls is not None,
        )
        return answer


def host_name(header: str) -> str:
    """Without the port, as in "localhost:8000" or "[::1]:8000"; empty if malformed."""
    found = HOST_HEADER.fullmatch(header)
    return "" if found is None else (found["literal"] or found["name"]).lower()


def is_same_origin(headers: Mapping[str, str], method: str, path: str) -> bool:
    """Whether the request comes from our own page, or from no page at all.

    Programs send neither Origin nor Sec-Fetch-*, and no page can forge them. Browsers send Origin
    with a POST, and Sec-Fetch-* to localhost. A GET to another address over plain HTTP carries
    neither: the Strict cookie protects it, and Cross-Origin-Resource-Policy prevents embedding.
    """
    host = headers.get("host")
    if headers.get("origin", f"http://{host}") not in (f"http://{host}", f"https://{host}"):
        return False
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    follows_link = headers.get("sec-fetch-mode") == "navigate"
    top_level = headers.get("sec-fetch-dest") == "document"  # not in a frame
    return follows_link and top_level and method == "GET" and path == PAGE


def _query_token(scope: Scope) -> str:
    query: str = scope["query_string"].decode("latin-1")
    return parse_qs(query).get("token", [""])[0]


def _cookies(headers: Headers) -> list[tuple[str, str]]:
    """Split by hand: cookies of other programs on this host come along, and Python's parser stops
    at the first malformed one."""
    parts = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return [(name, value) for name, _, value in parts]


def _refuse(status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": words}, status, headers={**(headers or {}), **CLOSE})
