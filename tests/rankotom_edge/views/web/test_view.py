"""The view as the live loop sees it."""

from __future__ import annotations

from typing import Any


def test_keys_come_out_of_the_view_in_order_and_never_more_than_it_holds(stage: Any) -> None:
    for key in ("space", "b", "q"):
        assert stage.ask(f"/api/keys/{key}", "POST").status == 204
    assert [stage.view.key() for _ in range(4)] == ["space", "b", "q", None]
    for unknown in ("x", "esc", "%2e%2e", "Q"):
        assert stage.ask(f"/api/keys/{unknown}", "POST").status == 404
    assert stage.ask("/api/keys/q").status == 405
    for _ in range(40):
        stage.ask("/api/keys/b", "POST")
    assert len(list(iter(stage.view.key, None))) == 32
