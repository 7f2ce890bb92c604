"""Three minutes of seconds, each with the mean of the faces in sight."""

import numpy as np
import pytest

from rankotom_edge.views.web.timeline import SECONDS, Timeline


def test_a_second_is_added_when_it_is_over_with_the_mean_of_its_faces() -> None:
    timeline = Timeline()
    timeline.add(7.0, [np.array([1.0, 0.0]), np.array([0.0, 1.0])])
    timeline.add(7.9, [np.array([1.0, 0.0])])
    assert timeline.after(-1) == []
    timeline.add(8.0, [])
    timeline.add(9.0, [])
    first, second = timeline.after(-1)
    assert first.as_json() == [7, pytest.approx([2 / 3, 1 / 3], abs=1e-3)]
    assert second.as_json() == [8, None]
    assert timeline.after(7) == [second]


def test_it_forgets_what_is_older_than_three_minutes() -> None:
    timeline = Timeline()
    for second in range(SECONDS + 100):
        timeline.add(float(second), [np.array([1.0])])
    kept = timeline.after(-1)
    assert [kept[0].number, kept[-1].number, len(kept)] == [99, SECONDS + 98, SECONDS]
