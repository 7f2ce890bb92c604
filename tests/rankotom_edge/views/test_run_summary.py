"""What is said at the end of a run."""

from dataclasses import replace
from typing import Any

import pytest

from rankotom_edge.frame import Frame
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.run_summary import LISTED_FACES, RunSummary, clock


def run(showing: Any, *spans: tuple[float, tuple[Reading, ...]], keep: bool = False) -> RunSummary:
    """Each span lasts some seconds, at four frames a second."""
    summary, time = RunSummary(keep), 0.0
    latest = showing.frame_readings()
    summary.write(latest)
    for seconds, readings in spans:
        for _ in range(round(4 * seconds)):
            time += 0.25
            frame = Frame(latest.frame.image, 0, time, 0.0)
            summary.write(replace(latest, frame=frame, readings=readings))
    return summary


def test_each_expression_has_its_time_and_its_surest_moment(showing: Any) -> None:
    happy, surer, sad = (
        showing.reading(1, happiness=0.8),
        showing.reading(2, happiness=0.9),
        showing.reading(1, sadness=0.7),
    )
    summary = run(showing, (6, (happy,)), (2, (happy, surer)), (5, (sad,)))
    assert summary.lines() == [
        "happiness      10 s   67 %   surest 90 % at 6 s, face 2",
        "sadness         5 s   33 %   surest 70 % at 8 s, face 1",
        "face 1: 13 s, mostly happiness; face 2: 2 s, mostly happiness",
    ]


def test_a_blend_counts_as_its_larger_part(showing: Any) -> None:
    summary = run(showing, (4, (showing.reading(surprise=0.5, happiness=0.4),)))
    assert summary.expressions == [("surprise", pytest.approx(4.0))]


def test_unsure_comes_last_with_its_reasons(showing: Any) -> None:
    dark = showing.reading(happiness=0.5, reason="too dark")
    doubt = showing.reading(happiness=0.4, reason="40 % sure, 50 % needed")
    happy = showing.reading(happiness=0.8)
    lines = run(showing, (1, (happy,)), (6, (dark,)), (2, (doubt,)), (1, (doubt,))).lines()
    assert lines[1] == "unsure          9 s   90 %   too dark 6 s, not confident enough 3 s"


def test_the_time_of_a_lost_camera_does_not_count(showing: Any) -> None:
    happy = showing.reading(happiness=0.8)
    summary, latest = RunSummary(), showing.frame_readings(happy)
    for time in (0.0, 0.5, 600.0):
        summary.write(replace(latest, frame=Frame(latest.frame.image, 0, time, 0.0)))
    assert summary.expressions == [("happiness", pytest.approx(1.5))]


def test_nobody_is_nothing_to_say(showing: Any) -> None:
    assert run(showing, (5, ())).lines() == []


def test_of_many_faces_those_longest_in_sight_are_listed_and_the_others_counted(
    showing: Any,
) -> None:
    spans = [(n, (showing.reading(n, happiness=0.8),)) for n in range(1, LISTED_FACES + 4)]
    said = run(showing, *spans).lines()[-1]
    assert said.startswith("face 4: 4 s")
    assert said.endswith("+3 more faces")


def test_pictures_of_faces_are_kept_only_if_asked(showing: Any) -> None:
    span = (2, (showing.reading(happiness=0.8),))
    assert run(showing, span).surest["happiness"].crop is None
    assert run(showing, span, keep=True).surest["happiness"].crop is not None


@pytest.mark.parametrize(("seconds", "words"), [(31.4, "31 s"), (75, "1:15"), (3723, "1:02:03")])
def test_times_are_written_as_on_a_clock(seconds: float, words: str) -> None:
    assert clock(seconds) == words
