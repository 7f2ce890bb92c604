from __future__ import annotations

from typing import Any

from rankotom_edge.publish.markers import Markers


def test_a_blend_is_marked_where_it_begins_changes_and_ends(made: Any) -> None:
    markers = Markers()
    blended = made.reading(3, "happiness", second="surprise")
    assert markers.after([made.reading(3)], None) == []
    assert markers.after([blended], None) == ["blend begin/3/happiness+surprise"]
    assert markers.after([blended], None) == []
    assert markers.after([made.reading(3, "surprise", second="fear")], None) == [
        "blend end/3/happiness+surprise",
        "blend begin/3/surprise+fear",
    ]
    assert markers.after([], None) == ["blend end/3/surprise+fear"]


def test_a_drift_is_marked_with_its_cause(made: Any) -> None:
    markers = Markers()
    assert markers.after([], made.drift(None)) == []
    assert markers.after([], made.drift("light is low")) == ["drift begin/light is low"]
    assert markers.after([], made.drift("light is low")) == []
    assert markers.after([], made.drift(None)) == ["drift end/light is low"]
