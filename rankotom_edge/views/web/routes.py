"""The addresses of the live view: the page, its streams, and the readings for other programs."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import resources
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.views.display import Status
from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.health import health
from rankotom_edge.views.web.page_files import guarded_site
from rankotom_edge.views.web.page_json import hello_json, now_json, page_keys
from rankotom_edge.views.web.pictures import FormatChoice, PictureCache, picture_key
from rankotom_edge.views.web.relay import Relay, StreamCounts, Update
from rankotom_edge.views.web.security import RequestGuard
from rankotom_edge.views.web.timeline import make_timeline, timeline_json

FILES = ("index.html", "page.js", "faces.js", "charts.js")
BOUNDARY = "picture"
# Per second and client. Chosen by eye for people, who see no difference above; for programs, every
# frame of any camera.
PICTURE_RATE, NUMBER_RATE, READING_RATE = 25.0, 12.0, 120.0
# Per second to all clients together, so that twenty of them do not slow the loop down: "make load"
# prints what they cost.
TOTAL_RATE = 160.0
KEEP_ALIVE = 2.0  # seconds without news after which a client is sent something; chosen by eye
TIMELINE_RATE = 5.0  # samples a second; chosen by eye


class MetricsPage(Protocol):
    def page(self, status: Status | None) -> tuple[bytes, str]:
        """The text for Prometheus and its content type."""

    def watch(self, streams: Sequence[StreamCounts]) -> None:
        """Shows these counts too."""


@dataclass(frozen=True)
class Site:
    """What is served."""

    model: MeasuredModel
    meta: Mapping[str, object]
    metrics: MetricsPage
    video: bool = True


class Routes:
    """Runs in the server's thread."""

    def __init__(self, site: Site, relay: Relay, keys: deque[str]) -> None:
        self._site, self._relay, self._keys = site, relay, keys
        self._reliability = Reliability(site.model.evaluation)
        self._pictures = PictureCache(site.model.crop.framing)
        self._timeline = make_timeline()
        # The last events, each written once for all clients, with the key of their content.
        self._now_event: tuple[object, bytes] = (None, b"")
        self._reading_line: tuple[object, str] = (None, "")
        self._timeline_event: tuple[object, bytes] = (None, b"")
        self._events, self._sockets = StreamCounts("events"), StreamCounts("websocket")
        site.metrics.watch([self._events, self._sockets])

    def app(self, address: Address) -> RequestGuard:
        routes: list[BaseRoute] = [
            Route("/api/live", self.live),
            Route("/api/readings", self.readings),
            WebSocketRoute("/api/readings/socket", self.readings_socket),
            Route("/api/meta", self.meta),
            Route("/api/keys/{key}", self.key, methods=["POST"]),
            Route("/healthz", self.healthz),
            Route("/metrics", self.metrics),
        ]
        if self._site.video:
            routes.append(Route("/video", self.video))
        folder = resources.files("rankotom_edge.views.web") / "page"
        return guarded_site([folder / name for name in FILES], routes, address, viewers=True)

    async def sample_timeline(self) -> None:
        """Runs as long as the server."""
        while True:
            update, now = self._relay.newest, time.monotonic()
            latest = None if update is None else update.display.latest
            live = (
                update is not None and not update.display.controls.paused and health(update, now).ok
            )
            self._timeline.add(now, latest.readings if live and latest is not None else ())
            await asyncio.sleep(1 / TIMELINE_RATE)

    async def live(self, request: Request) -> Response:
        viewer = request.scope["role"] == "viewer"
        return self._stream(request, self._live(viewer), "text/event-stream")

    async def readings(self, request: Request) -> Response:
        return self._stream(request, self._reading_events(), "text/event-stream")

    async def readings_socket(self, socket: WebSocket) -> None:
        """The same for programs that speak WebSocket."""
        if self._relay.is_full(socket.scope["role"]):
            await socket.send_denial_response(too_many())
            return
        await socket.accept()
        sending = asyncio.create_task(self._send_readings(socket))
        try:
            while (await socket.receive())["type"] != "websocket.disconnect":
                pass  # nobody reads what it says
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send_readings(self, socket: WebSocket) -> None:
        async with aclosing(self._readings(self._sockets)) as lines:
            async for line in lines:
                if line is not None:
                    await socket.send_text(line)

    async def video(self, request: Request) -> Response:
        kind = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        return self._stream(request, self._video(), kind)

    async def meta(self, request: Request) -> Response:
        return JSONResponse(dict(self._site.meta))

    async def key(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key not in page_keys(self._site.video):
            return JSONResponse({"error": f"there is no key {key[:16]!r}"}, 404)
        self._keys.append(key)
        return Response(status_code=204)

    async def healthz(self, request: Request) -> Response:
        state = health(self._relay.newest, time.monotonic())
        return JSONResponse({"ok": state.ok, "reason": state.words}, 200 if state.ok else 503)

    async def metrics(self, request: Request) -> Response:
        newest = self._relay.newest
        text, kind = self._site.metrics.page(None if newest is None else newest.display.status)
        return Response(text, media_type=kind)

    def _stream(self, request: Request, parts: AsyncIterator[bytes], kind: str) -> Response:
        if self._relay.is_full(request.scope["role"]):
            return too_many()
        return StreamingResponse(parts, media_type=kind)

    async def _live(self, viewer: bool) -> AsyncIterator[bytes]:
        """For the page: first what stays the same, then every change, and the timeline once a
        second."""
        relay, site = self._relay, self._site
        with relay.stream():
            yield _event(hello_json(site.model, site.video, viewer), "hello")
            seen, second = 0, None
            while True:
                update = await relay.wait_for_newer(seen, KEEP_ALIVE)
                seen = 0 if update is None else update.number
                if second != int(time.monotonic()):
                    second = int(time.monotonic())
                    yield self._write_timeline(second)
                yield self._write_now(update)
                await self._wait_for_turn(NUMBER_RATE)

    def _write_timeline(self, second: int) -> bytes:
        if self._timeline_event[0] != second:
            event = _event(timeline_json(self._timeline), "timeline")
            self._timeline_event = (second, event)
        return self._timeline_event[1]

    def _write_now(self, update: Update | None) -> bytes:
        """Again after a second without an update, because a stall changes the message."""
        now = time.monotonic()
        key = (0 if update is None else update.number, int(now))
        if self._now_event[0] != key:
            content = now_json(update, self._reliability, self._site.video, now)
            self._now_event = (key, _event(content, "now"))
        return self._now_event[1]

    async def _reading_events(self) -> AsyncIterator[bytes]:
        yield b": readings\n\n"
        async with aclosing(self._readings(self._events)) as lines:
            async for line in lines:
                yield b": no news\n\n" if line is None else f"data: {line}\n\n".encode()

    async def _readings(self, counts: StreamCounts) -> AsyncGenerator[str | None]:
        """Every frame, as in a recording; None without news. A slow client, or one of many, misses
        some."""
        with self._relay.stream(), counts.client():
            seen, frames = 0, None
            while True:
                update = await self._relay.wait_for_newer(seen, KEEP_ALIVE)
                if update is None or update.number == seen:
                    yield None
                    continue
                seen = update.number
                latest = update.display.latest
                if latest is not None and update.frames != frames:
                    yield self._write_reading(latest, update.frames)
                    counts.add(0 if frames is None else update.frames - frames - 1)
                    frames = update.frames
                    await self._wait_for_turn(READING_RATE)

    def _write_reading(self, latest: FrameReadings, number: int) -> str:
        if self._reading_line[0] != number:
            self._reading_line = (number, _json(latest.as_json()))
        return self._reading_line[1]

    async def _video(self) -> AsyncIterator[bytes]:
        with self._relay.stream():
            # A browser shows a picture when the boundary after it has arrived.
            yield f"--{BOUNDARY}\r\n".encode()
            choice, seen, last = FormatChoice(), 0, None
            while True:
                update = await self._relay.wait_for_newer(seen, KEEP_ALIVE)
                if update is None or picture_key(update) == last:
                    seen = 0 if update is None else update.number
                    continue
                seen = update.number
                picture = self._pictures.jpeg(update, choice.format)
                if picture is None:
                    continue
                last = picture_key(update)
                started = time.monotonic()
                yield _part(picture)
                choice = choice.after(time.monotonic() - started)
                await self._wait_for_turn(PICTURE_RATE)

    async def _wait_for_turn(self, rate: float) -> None:
        """All clients wait for the same instants, so that one picture serves all of them."""
        interval = max(1 / rate, self._relay.streams / TOTAL_RATE)
        await asyncio.sleep(interval - time.monotonic() % interval)


def too_many() -> Response:
    return JSONResponse({"error": "too many are watching"}, 503)


def _part(picture: bytes) -> bytes:
    head = f"Content-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
    return head.encode() + picture + f"\r\n--{BOUNDARY}\r\n".encode()


def _event(content: object, name: str | None = None) -> bytes:
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {_json(content)}\n\n".encode()


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)
