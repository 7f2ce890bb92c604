"""Runs uvicorn in a thread, with limits on the number of connections and how long they idle."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from rankotom_edge.closing import Closing
from rankotom_edge.views.web.address import Address

MAX_CONNECTIONS = 96  # all streams, and room for short requests; chosen by eye, like the others
IDLE_SECONDS = 10.0  # for a whole request to arrive, the first one included
SHUTDOWN_SECONDS = 5.0  # to wait for the thread; it is a daemon and ends with the program anyway
HEADER_BYTES = 16 * 1024
# Bytes held per client, besides the kernel's buffer and the picture that is being sent.
WRITE_BUFFER = 16 * 1024
MESSAGE_BYTES = 1024  # of what the other end of a WebSocket says, which nobody reads


class Connection(H11Protocol):
    """Closes connections without a finished request, for which uvicorn would wait forever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_timer = self.loop.call_later(IDLE_SECONDS, self._close_if_idle, None)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._idle_timer.cancel()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle_timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """At once: streams have no end to wait for."""
        self.transport.abort()

    def _close_if_idle(self, before: RequestResponseCycle | None) -> None:
        """``before``: the last request at the previous check."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is before:
            self.transport.abort()
        else:
            self._idle_timer = self.loop.call_later(IDLE_SECONDS, self._close_if_idle, self.cycle)


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket, which a ``Connection`` becomes on request."""

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # uvicorn would report every refusal as an error

    def shutdown(self) -> None:
        """At once: whoever does not read would never get our farewell."""
        self.transport.abort()


class Server(Closing):
    """Serves from construction until it is closed; ``beside`` runs as long, in the same thread."""

    def __init__(
        self,
        address: Address,
        app: ASGIApp,
        beside: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> None:
        self._address, self._beside = address, beside
        config = uvicorn.Config(
            app,
            http=Connection,
            ws=SocketConnection,
            ws_max_size=MESSAGE_BYTES,
            ws_per_message_deflate=False,  # costs more than it saves on this machine
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,  # its lines would contain the token
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
        self._thread.join(SHUTDOWN_SECONDS)
        self._address.socket.close()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        beside = None if self._beside is None else asyncio.create_task(self._beside())
        try:
            await self._server.serve([self._address.socket])
        finally:
            if beside is not None:
                beside.cancel()
