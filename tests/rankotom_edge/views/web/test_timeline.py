"""A lane for each face, in runs of equal headlines."""

from dataclasses import replace
from typing import Any

from calib.emotions import EMOTIONS
from rankotom_edge.views.web.timeline import SECONDS, make_timeline, timeline_json

HAPPY, SAD = EMOTIONS.index("happiness"), EMOTIONS.index("sadness")


def test_each_face_has_a_lane_of_runs_with_a_gap_where_it_was_away(showing: Any) -> None:
    timeline = make_timeline()
    happy, sad = showing.reading(1, happiness=0.9), showing.reading(2, sadness=0.9)
    unsure = replace(happy, verdict="unsure", reason="too dark")
    for second, readings in enumerate([(happy,), (happy, sad), (), (unsure, sad)]):
        timeline.add(1000.0 + second, readings)
    first, second_lane = timeline_json(timeline)
    start = SECONDS - 4
    assert first == {
        "track": 1,
        "runs": [[start, 2, [HAPPY], False], [start + 3, 1, [HAPPY], True]],
    }
    assert second_lane["runs"] == [[start + 1, 1, [SAD], False], [start + 3, 1, [SAD], False]]


def test_a_blend_has_both_of_its_emotions(showing: Any) -> None:
    timeline = make_timeline()
    timeline.add(5.0, [showing.reading(happiness=0.52, surprise=0.36)])
    (lane,) = timeline_json(timeline)
    assert lane["runs"] == [[SECONDS - 1, 1, [HAPPY, EMOTIONS.index("surprise")], False]]


def test_a_face_that_left_is_forgotten_after_three_minutes(showing: Any) -> None:
    timeline = make_timeline()
    timeline.add(0.0, [showing.reading(happiness=0.9)])
    timeline.add(float(SECONDS), [])
    assert timeline_json(timeline) == []
