"""The view of ``--view web``: displays go in, keys come out, a server runs in between."""

import time
from collections import deque

from rankotom_edge.closing import Closing
from rankotom_edge.views.display import Display
from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.relay import Relay
from rankotom_edge.views.web.routes import Routes, Site
from rankotom_edge.views.web.server import Server

MAX_KEYS = 32  # waiting for the loop; older ones are dropped


class WebView(Closing):
    interactive = True
    shows_faces = True

    def __init__(self, address: Address, site: Site) -> None:
        self._relay = Relay()
        self._keys: deque[str] = deque(maxlen=MAX_KEYS)
        routes = Routes(site, self._relay, self._keys)
        self._server = Server(address, routes.app(address), routes.sample_timeline)

    @property
    def closed(self) -> bool:
        return not self._server.running

    def show(self, display: Display) -> None:
        self._relay.put(display, time.monotonic())

    def key(self) -> str | None:
        return self._keys.popleft() if self._keys else None

    def close(self) -> None:
        self._server.close()
