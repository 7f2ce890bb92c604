"""Runs uvicorn in a thread, with limits on who holds a connection and for how long."""

import asyncio
import socket
import threading
from asyncio import sslproto
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from rankotom_edge.closing import Closing
from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.security import RequestGuard

# Seconds. All chosen by eye.
FIRST_BYTE_SECONDS = 5.0  # for TLS to be agreed on, and for a first byte after that
HEADER_SECONDS = 10.0  # from its first byte on, for a whole request
SHUTDOWN_SECONDS = 5.0  # to wait for the thread; it is a daemon and ends with the program anyway
NO_HANDLE_SECONDS = 0.1  # before another connection is accepted, if there was no file handle left
HEADER_BYTES, PIECE = 16 * 1024, 1024  # of a request, and of what is parsed at once
# Bytes that asyncio holds of each TLS connection; its own 256 KB would make a flood cost 100 MB.
TLS_BUFFER = 16 * 1024
# Bytes held per client, besides the kernel's buffer and the picture that is being sent.
WRITE_BUFFER = 16 * 1024
# Connections that the kernel holds until we accept them; one more has to try again a second later.
WAITING = 1024  # chosen by eye
MESSAGE_BYTES = 1024  # of what the other end of a WebSocket says, which nobody reads
PONG_BYTES = 256 * 1024  # held for a WebSocket that sends pings and reads no answer; chosen by eye
NOT_UNDERSTOOD = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Connection(H11Protocol):
    """Closes connections without a finished request, for which uvicorn would wait forever."""

    on_lost: Callable[[], None]
    _deadline: asyncio.TimerHandle | None = None
    _receiving = False  # a request of which some bytes are here

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._set_deadline(FIRST_BYTE_SECONDS)

    def data_received(self, data: bytes) -> None:
        """In pieces: h11 limits the bytes that it holds, and not those that come all at once."""
        if not self._receiving and (self.cycle is None or self.cycle.response_complete):
            self._receiving = True
            self._set_deadline(HEADER_SECONDS)
        before = self.cycle
        for start in range(0, len(data), PIECE):
            super().data_received(data[start : start + PIECE])
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return
        if self.cycle is not before:
            self._receiving = False
            self._set_deadline(None)
        if len(self.conn.trailing_data[0]) > HEADER_BYTES:  # sent before the answer
            self.transport.abort()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._set_deadline(None)
        super().handle_websocket_upgrade(event)
        upgraded = self.transport.get_protocol()
        if isinstance(upgraded, SocketConnection):
            upgraded.on_lost = self.on_lost

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self.on_lost()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """uvicorn would put it in place of an answer that is still to come, or after the last."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.conn.our_state is not h11.IDLE:
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def shutdown(self) -> None:
        """At once: streams have no end to wait for."""
        self.transport.abort()

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)


class _Uvicorn(uvicorn.Server):
    """Accepts connections itself: uvicorn accepts all that come, and cannot count those that have
    not agreed on TLS yet."""

    def __init__(self, config: uvicorn.Config, address: Address, guard: RequestGuard) -> None:
        super().__init__(config)
        if address.tls is not None:
            sslproto.SSLProtocol.max_size = TLS_BUFFER
        self._address, self._connections = address, guard.connections
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        self._address.socket.setblocking(False)
        self._address.socket.listen(WAITING)
        self._start(self._accept())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._tasks:
            task.cancel()
        await super().shutdown([])

    def _start(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self) -> None:
        """One a turn of the event loop, so that a request is read before many later connections
        can push it out."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, client = await loop.sock_accept(self._address.socket)
            except OSError:
                await asyncio.sleep(NO_HANDLE_SECONDS)
                continue
            protocol = Connection(self.config, self.server_state, self.lifespan.state, loop)
            opening = self._start(self._open(accepted, protocol))
            held = self._connections.opened(client[:2], partial(_close, opening, protocol))
            protocol.on_lost = partial(self._connections.closed, held)
            await asyncio.sleep(0)

    async def _open(self, accepted: socket.socket, protocol: Connection) -> None:
        tls, loop = self._address.tls, asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else FIRST_BYTE_SECONDS,
            )
        except OSError:  # the client went away, or did not agree on TLS in time
            protocol.on_lost()


def _close(opening: "asyncio.Task[None]", protocol: Connection) -> None:
    opening.cancel()
    if protocol.transport is not None:
        protocol.transport.abort()


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket, which a ``Connection`` becomes on request."""

    on_lost: Callable[[], None]

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.handshake_initiated:
            # The request is here as a whole. uvicorn would never answer one that is no request to
            # websockets: with a body, or with too many headers.
            self.transport.write(NOT_UNDERSTOOD)
            self.transport.close()
        if self.transport.get_write_buffer_size() > PONG_BYTES:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.on_lost()
        super().connection_lost(exc)

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
        guard: RequestGuard,
        beside: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> None:
        self._address, self._beside = address, beside
        config = uvicorn.Config(
            guard,
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
        self._server = _Uvicorn(config, address, guard)
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
            await self._server.serve()
        finally:
            if beside is not None:
                beside.cancel()
