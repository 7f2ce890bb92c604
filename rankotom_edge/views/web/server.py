"""The server: uvicorn in a thread of its own, with limits on who holds a connection how long."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rankotom_edge.closing import Closing

if TYPE_CHECKING:
    from rankotom_edge.views.web.address import Address
    from rankotom_edge.views.web.routes import Routes

MOST_CONNECTIONS = 96  # every stream, and room for the short requests beside them
IDLE_SECONDS = 10.0  # for a whole request to come, also the first
LONGEST_GOODBYE = 5.0  # seconds; the thread is a daemon, and ends with the program at the latest
HEADER_BYTES = 16 * 1024
# Held for a reader in our memory, beside what the kernel holds; a whole picture more while it goes.
WRITE_BUFFER = 16 * 1024


class Connection(H11Protocol):
    """Uvicorn alone would wait without end for a request that is never finished."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch = self.loop.call_later(IDLE_SECONDS, self._look, None)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Streams have no end to wait for."""
        self.transport.abort()

    def _look(self, before: RequestResponseCycle | None) -> None:
        """``before``: the request that was served last when we looked last."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is before:
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(IDLE_SECONDS, self._look, self.cycle)


class Server(Closing):
    """Serves from the moment it is made until it is closed."""

    def __init__(self, address: Address, routes: Routes) -> None:
        self._address, self._routes = address, routes
        config = uvicorn.Config(
            routes.app(address),
            http=Connection,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,  # its lines would hold the token
            proxy_headers=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(LONGEST_GOODBYE)
        self._address.socket.close()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        clock = asyncio.create_task(self._routes.keep_time())
        try:
            await self._server.serve([self._address.socket])
        finally:
            clock.cancel()
