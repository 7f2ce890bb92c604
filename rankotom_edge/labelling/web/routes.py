"""The addresses of the labelling page.

Blind: a browser receives the picture, and what this rater said; nothing from the model or from
another rater.
"""

from __future__ import annotations

import secrets
import threading
from importlib import resources

import cv2
import numpy as np
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from calib.errors import RankotomError
from rankotom_edge.frame import Image
from rankotom_edge.labelling.labelling import QUESTION, Labelling
from rankotom_edge.views.palette import emotion_hex
from rankotom_edge.views.web.address import Address
from rankotom_edge.views.web.page_files import guarded_site
from rankotom_edge.views.web.security import RequestGuard

FILES = ("index.html", "labelling.css", "labelling.js")
MAX_SIDE = 960  # pixels of a picture; a page shows no more, and a phone waits less. By eye


class LabellingRoutes:
    """Runs in the server's thread; ``ended`` tells the thread that waits for the rater."""

    def __init__(self, labelling: Labelling) -> None:
        self._labelling = labelling
        # A page left open from an earlier run must not label the faces of this one.
        self._run = secrets.token_hex(8)
        self.ended = threading.Event()
        self.error: RankotomError | None = None

    def app(self, address: Address) -> RequestGuard:
        folder = resources.files("rankotom_edge.labelling.web") / "page"
        routes = [
            Route("/api/labelling", self.state),
            Route("/api/labelling/{run}/{number:int}/{key}", self.press, methods=["POST"]),
            Route("/face/{run}/{number:int}", self.face),
        ]
        return guarded_site([folder / name for name in FILES], routes, address)

    async def state(self, request: Request) -> Response:
        return self._state()

    async def face(self, request: Request) -> Response:
        number, faces = request.path_params["number"], self._labelling.faces
        if request.path_params["run"] != self._run or number >= len(faces):
            return JSONResponse({"error": "there is no such face"}, 404)
        return Response(_png(faces[number].picture), media_type="image/png")

    async def press(self, request: Request) -> Response:
        """A key, for the face that the browser shows: a second tap, or a page left open elsewhere,
        must not label a face that its rater has not seen."""
        labelling, asked = self._labelling, request.path_params
        if (asked["run"], asked["number"]) != (self._run, labelling.number):
            return self._state(409)
        ended = BackgroundTask(self.ended.set)  # once the answer is sent
        try:
            known = labelling.press(asked["key"])
        except RankotomError as error:
            self.error = error
            return JSONResponse({"error": str(error)}, 500, background=ended)
        if not known:
            return JSONResponse({"error": "there is no such key"}, 404)
        return self._state(background=ended if labelling.finished else None)

    def _state(self, status: int = 200, background: BackgroundTask | None = None) -> Response:
        content = state_json(self._labelling) | {"run": self._run}
        return JSONResponse(content, status, background=background)


def state_json(labelling: Labelling) -> dict[str, object]:
    """``number`` is that of the face in sight, from 0; ``said`` is the rater's answer to it."""
    progress, names = labelling.progress, labelling.expressions
    return {
        "question": QUESTION,
        "rater": labelling.rater,
        "expressions": [
            {"key": str(number + 1), "name": name, "colour": emotion_hex(names, number)}
            for number, name in enumerate(names)
        ],
        "number": labelling.number,
        "said": labelling.said,
        "said_before": labelling.said_before,
        "progress": {"done": progress.done, "total": progress.total, "words": progress.words},
        "complete": labelling.complete,
        "finished": labelling.finished,
        "summary": labelling.summary,
    }


def _png(picture: Image) -> bytes:
    """In memory alone."""
    zoom = min(1.0, MAX_SIDE / max(picture.shape[:2]))
    if zoom < 1:
        smaller = cv2.resize(picture, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
        picture = np.asarray(smaller, np.uint8)
    return bytes(cv2.imencode(".png", picture)[1])
