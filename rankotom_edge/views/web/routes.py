"""What can be asked for: the page, its streams, and the numbers for other programs."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Protocol

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.web.health import health
from rankotom_edge.views.web.page_json import introduce, keys_of, tell
from rankotom_edge.views.web.pictures import Pace, Pictures, picture_key
from rankotom_edge.views.web.security import PAGE, Gate
from rankotom_edge.views.web.timeline import SECONDS, Timeline

if TYPE_CHECKING:
    from importlib.abc import Traversable

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.readings.frame_readings import FrameReadings
    from rankotom_edge.views.display import Status
    from rankotom_edge.views.web.address import Address
    from rankotom_edge.views.web.relay import Relay, Shown

FILES = {
    "index.html": "text/html",
    "style.css": "text/css",
    "page.js": "text/javascript",
    "faces.js": "text/javascript",
    "charts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
REFUSED_PAGE = "refused.html"
BOUNDARY = "picture"
# Faster than these nobody sees a difference; the bars glide between two readings.
PICTURES_A_SECOND, NUMBERS_A_SECOND = 25.0, 12.0
READINGS_A_SECOND = 120.0  # for programs: every frame of any camera, while they are few
# To all readers together, so that a crowd costs the loop no more than a few do.
MOST_A_SECOND = 160.0
SILENCE = 2.0  # seconds after which a reader hears that we are still there
SAMPLES_A_SECOND = 5.0  # of the timeline


class MetricsPage(Protocol):
    def page(self, status: Status | None) -> tuple[bytes, str]:
        """The text for Prometheus and its content type."""


@dataclass(frozen=True)
class Site:
    """What is served."""

    model: MeasuredModel
    meta: Mapping[str, object]
    metrics: MetricsPage
    video: bool = True


class Routes:
    """Everything here runs in the server's thread."""

    def __init__(self, site: Site, relay: Relay, keys: deque[str]) -> None:
        self._site, self._relay, self._keys = site, relay, keys
        self._reliability = Reliability(site.model.evaluation)
        self._pictures = Pictures(site.model.crop.framing)
        self._timeline = Timeline()
        self._told: tuple[object, bytes] = (None, b"")
        self._written: tuple[object, bytes] = (None, b"")

    def app(self, address: Address) -> ASGIApp:
        files = resources.files("rankotom_edge.views.web") / "page"
        routes = [
            Route(PAGE if name == "index.html" else f"/{name}", _file(files / name, kind))
            for name, kind in FILES.items()
        ]
        routes += [
            Route("/api/live", self.live),
            Route("/api/readings", self.readings),
            Route("/api/meta", self.meta),
            Route("/api/keys/{key}", self.key, methods=["POST"]),
            Route("/healthz", self.healthz),
            Route("/metrics", self.metrics),
        ]
        if self._site.video:
            routes.append(Route("/video", self.video))
        refused = (files / REFUSED_PAGE).read_text(encoding="utf-8")
        return Gate(Starlette(routes=routes), address, refused)

    async def keep_time(self) -> None:
        """Feeds the timeline for as long as the server runs."""
        while True:
            shown, now = self._relay.newest, time.monotonic()
            faces = []
            if shown is not None and not shown.display.controls.paused and health(shown, now).ok:
                latest = shown.display.latest
                readings = () if latest is None else latest.readings
                faces = [reading.probabilities for reading in readings]
            self._timeline.add(now, faces)
            await asyncio.sleep(1 / SAMPLES_A_SECOND)

    async def live(self, request: Request) -> Response:
        return self._stream(self._live(), "text/event-stream")

    async def readings(self, request: Request) -> Response:
        return self._stream(self._readings(), "text/event-stream")

    async def video(self, request: Request) -> Response:
        kind = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        return self._stream(self._video(), kind)

    async def meta(self, request: Request) -> Response:
        return JSONResponse(dict(self._site.meta))

    async def key(self, request: Request) -> Response:
        key = request.path_params["key"]
        if key not in keys_of(self._site.video):
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

    def _stream(self, parts: AsyncIterator[bytes], kind: str) -> Response:
        if self._relay.full:
            return JSONResponse({"error": "too many are watching"}, 503)
        return StreamingResponse(parts, media_type=kind)

    async def _live(self) -> AsyncIterator[bytes]:
        """For the page: once what stays, then what changes, and each second that is over."""
        relay, site = self._relay, self._site
        with relay.stream():
            yield _event(introduce(site.model, SECONDS, site.video), "hello")
            seen, since = 0, -1
            while True:
                shown = await relay.newer(seen, SILENCE)
                seen = 0 if shown is None else shown.number
                seconds = self._timeline.after(since)
                if seconds:
                    since = seconds[-1].number
                    yield _event([second.as_json() for second in seconds], "seconds")
                yield self._tell(shown)
                await self._beat(NUMBERS_A_SECOND)

    def _tell(self, shown: Shown | None) -> bytes:
        """Written once for all readers; again each second, as it may be that nothing comes."""
        now = time.monotonic()
        key = (0 if shown is None else shown.number, int(now))
        if self._told[0] != key:
            told = tell(shown, self._reliability, self._site.video, now)
            self._told = (key, _event(told, "now"))
        return self._told[1]

    async def _readings(self) -> AsyncIterator[bytes]:
        """Every frame, as it is recorded; a reader that is slow, or one of many, misses some."""
        with self._relay.stream():
            yield b": readings\n\n"
            last, seen = None, 0
            while True:
                shown = await self._relay.newer(seen, SILENCE)
                if shown is None or shown.number == seen:
                    yield b": no news\n\n"
                    continue
                seen = shown.number
                latest = shown.display.latest
                if latest is not None and shown.came != last:
                    last = shown.came
                    yield self._line(latest, last)
                    await self._beat(READINGS_A_SECOND)

    def _line(self, latest: FrameReadings, came: float | None) -> bytes:
        """Written once for all readers."""
        if self._written[0] != came:
            self._written = (came, _event(latest.as_json()))
        return self._written[1]

    async def _video(self) -> AsyncIterator[bytes]:
        with self._relay.stream():
            # A browser shows a picture when the next boundary has come.
            yield f"--{BOUNDARY}\r\n".encode()
            pace, seen, last = Pace(), 0, None
            while True:
                shown = await self._relay.newer(seen, SILENCE)
                if shown is None or picture_key(shown) == last:
                    seen = 0 if shown is None else shown.number
                    continue
                seen = shown.number
                picture = self._pictures.jpeg(shown, pace.look)
                if picture is None:
                    continue
                last = picture_key(shown)
                started = time.monotonic()
                yield _part(picture)
                pace = pace.after(time.monotonic() - started)
                await self._beat(PICTURES_A_SECOND)

    async def _beat(self, most: float) -> None:
        """All readers go on at the same beat, so that one picture does for all of them."""
        interval = max(1 / most, self._relay.streams / MOST_A_SECOND)
        await asyncio.sleep(interval - time.monotonic() % interval)


def _file(path: Traversable, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = path.read_bytes()

    async def serve(request: Request) -> Response:
        return Response(content, media_type=kind)

    return serve


def _part(picture: bytes) -> bytes:
    head = f"Content-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
    return head.encode() + picture + f"\r\n--{BOUNDARY}\r\n".encode()


def _event(content: object, name: str | None = None) -> bytes:
    head = "" if name is None else f"event: {name}\n"
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return f"{head}data: {text}\n\n".encode()
