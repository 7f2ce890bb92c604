"""What each address of the labelling page answers, from the real server."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.views.web.security import HEADERS

PATHS = ("/", "/labelling.js", "/labelling.css", "/style.css", "/icon.svg", "/api/labelling")


def test_the_page_and_its_files_come_with_the_headers_of_the_live_page(
    start: Callable[..., Any],
) -> None:
    run = start()
    for path in PATHS:
        answer = run.ask(path)
        assert answer.status == 200
        assert HEADERS.items() <= answer.headers.items()
    assert run.ask("/page.js").status == run.ask("/video").status == 404


def test_without_the_token_there_is_nothing_and_nothing_is_labelled(
    start: Callable[..., Any], token: str
) -> None:
    run = start(token=token)
    state = run.state
    press = f"/api/labelling/{state['run']}/0/2"
    for path in (*PATHS, f"/face/{state['run']}/0", press, f"/api/labelling?token={token}"):
        assert run.ask(path).status == 401
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": f"rankotom-{run.port}=no"}):
        assert run.ask(press, "POST", headers).status == 401
    assert run.labels == []
    assert run.links == [f"http://127.0.0.1:{run.port}/?token={token}"]
    allowed = {"Authorization": f"Bearer {token}"}
    assert run.ask(press, "POST", allowed).status == 200
    other_site = {**allowed, "Origin": "http://evil.example"}
    assert run.ask(press, "POST", other_site).status == 403
    assert run.ask("/", headers={**allowed, "Host": "evil.example"}).status == 403
    assert run.labels == ["happiness"]


def test_the_picture_is_a_png_that_nobody_keeps(start: Callable[..., Any]) -> None:
    run = start()
    answer = run.ask(f"/face/{run.state['run']}/0")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["cache-control"] == "no-store"
    sent = cv2.imdecode(np.frombuffer(answer.body, np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(sent, run.labelling.faces[0].picture)
    assert run.ask(f"/face/{run.state['run']}/6").status == 404
    assert run.ask("/face/0/0").status == 404


def test_keys_label_at_once_and_only_the_face_that_the_page_shows(
    start: Callable[..., Any],
) -> None:
    run = start()
    shown = run.state
    assert [each["name"] for each in shown["expressions"]] == list(EMOTIONS)
    answer = run.press("4")
    assert (answer.status, answer.json["number"]) == (200, 1)
    assert run.labels == ["sadness"]
    again = run.press("4", shown)  # a second tap
    assert (again.status, again.json) == (409, answer.json)
    earlier_run = run.press("4", {**answer.json, "run": "0" * 16})
    assert earlier_run.status == 409
    assert run.labels == ["sadness"]
    for key in ("9", "x", "enter", "happiness", "%2e%2e"):
        assert run.press(key).status == 404
    assert run.press("b").json["said"] == "sadness"
    assert run.press("0").json["said_before"] == "can't tell"
    assert run.labels == ["sadness", None]


def test_nothing_that_is_served_tells_what_the_model_or_another_rater_said(
    start: Callable[..., Any], faces: Callable[..., Any]
) -> None:
    other = start(name="Wilhelmina")
    for key in "77777":
        other.press(key)
    other.end()
    run = start()
    run.press("2")
    state = run.state
    paths = (*PATHS, *(f"/face/{state['run']}/{number}" for number in range(6)))
    secrets = [str(face.logits[0]) for face in faces(6)]
    secrets += ["ferplus", "made/", "track 0", "Wilhelmina", "5" * 64, "confiden", "logit"]
    for path in paths:
        answer = run.ask(path)
        assert answer.status == 200
        told = answer.body + repr(answer.headers).encode()
        assert [word for word in secrets if word.encode() in told] == []
    said = {key: value for key, value in state.items() if key != "expressions"}
    assert "fear" not in str(said)
    assert set(state) == {
        "run", "number", "question", "rater", "expressions", "said", "said_before", "progress",
        "complete", "finished", "summary",
    }  # fmt: skip


def test_finishing_ends_the_labelling_and_frees_the_address(start: Callable[..., Any]) -> None:
    run = start(2)
    run.press("1")
    run.press("2")
    assert run.state["complete"]
    assert not run.state["finished"]
    assert run.press("enter").json["finished"]
    assert run.ended()
    assert run.error is None
    again = start(2, port=run.port)
    assert again.state["summary"] == "All 2 faces have an answer."


def test_without_room_on_the_disk_it_ends_with_the_reason_and_keeps_the_labels(
    start: Callable[..., Any],
) -> None:
    run = start()
    run.press("1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (run.path.stat().st_size + 9, before[1]))
    try:
        answer = run.press("2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert answer.status == 500
    assert "labels before are kept" in answer.json["error"]
    assert run.ended()
    assert str(run.error) == answer.json["error"]
    assert run.labels == ["neutral"]


@pytest.mark.parametrize("shape", [(3000, 1500), (20, 30)])
def test_a_large_picture_is_made_smaller_and_a_small_one_is_not_made_larger(
    start: Callable[..., Any], faces: Callable[..., Any], shape: tuple[int, int]
) -> None:
    run = start([replace(faces(1)[0], picture=np.zeros((*shape, 3), np.uint8))])
    answer = run.ask(f"/face/{run.state['run']}/0")
    sent = cv2.imdecode(np.frombuffer(answer.body, np.uint8), cv2.IMREAD_COLOR)
    assert sent.shape[:2] == ((960, 480) if shape[0] > 960 else shape)
