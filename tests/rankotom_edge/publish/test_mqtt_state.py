from __future__ import annotations

from typing import Any

from rankotom_edge.publish.mqtt_state import CHANGED, SAME, StateClock, mqtt_state
from rankotom_edge.publish.stream import Outgoing


def test_the_state_is_of_the_nearest_face(made: Any) -> None:
    near = made.reading(5, "surprise", 0.7, width=200)
    frame = Outgoing.of(made.frame(made.reading(4), near), made.drift("light is low"))
    assert mqtt_state(frame, "playing", "ferplus-int8") == {
        "source": "playing",
        "model": "ferplus-int8",
        "faces": 2,
        "expression": "surprise",
        "top": "surprise",
        "confidence": 0.7,
        "verdict": "sure",
        "reason": None,
        "track": 5,
        "drift": "drifted",
        "drift_cause": "light is low",
    }


def test_an_unsure_face_is_named_unsure_and_a_blend_by_its_name(made: Any) -> None:
    unsure = mqtt_state(Outgoing.of(made.frame(made.reading(verdict="unsure"))), "playing", "")
    assert (unsure["expression"], unsure["top"]) == ("unsure", "happiness")
    blended = made.frame(made.reading(second="surprise"))
    assert mqtt_state(Outgoing.of(blended), "playing", "")["expression"] == "happily surprised"


def test_without_a_face_or_a_frame_nothing_is_claimed(made: Any) -> None:
    for outgoing in (None, Outgoing.of(made.frame())):
        state = mqtt_state(outgoing, "lost", "m")
        assert (state["source"], state["faces"], state["expression"]) == ("lost", 0, None)


def test_a_state_is_due_once_a_second_if_it_changes_and_else_every_ten() -> None:
    clock, one, other = StateClock(), {"a": 1}, {"a": 2}
    assert clock.is_due(one, 100.0)
    clock.sent(one, 100.0)
    assert not clock.is_due(other, 100.0 + CHANGED / 2)
    assert clock.is_due(other, 100.0 + CHANGED)
    assert not clock.is_due(one, 100.0 + SAME / 2)
    assert clock.is_due(one, 100.0 + SAME)
    clock.forget()
    assert clock.is_due(one, 100.0)
