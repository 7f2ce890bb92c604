"""Readings of the demo, with verdicts and expressions put in their place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rankotom_edge.analyze.statistics import Statistics, StatisticsCollector, total
from rankotom_edge.frame import Frame
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.readings.drift_monitor import Reference
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading

NOTHING = np.zeros((2, 2, 3), np.uint8)


@pytest.fixture
def reading(frames: Sequence[FrameReadings]) -> Reading:
    return next(each.readings[0] for each in frames if each.readings)


def showing(reading: Reading, expression: str, track: int = 1) -> Reading:
    """Sure of this expression; "unsure" is too dark."""
    shares = np.full(len(reading.labels), 0.01)
    if expression == "unsure":
        return replace(reading, track=track, verdict="unsure", reason="too dark", blend=None)
    shares[reading.labels.index(expression)] = 0.93
    return replace(
        reading,
        track=track,
        probabilities=shares,
        raw=shares,
        blend=None,
        verdict="sure",
        reason=None,
    )


def collect(
    fp32: Artifact, moments: Sequence[tuple[float, Sequence[Reading]]], fps: float | None = None
) -> Statistics:
    collector = StatisticsCollector(Reference.of(fp32.card), fps)
    for index, (time, readings) in enumerate(moments):
        frame = Frame(NOTHING, index, time, 0.0)
        collector.write(FrameReadings(frame, tuple(readings), Latency(None, 0.0, 0.0)))
    return collector.finish()


def moments(reading: Reading, *parts: tuple[str, float]) -> list[tuple[float, tuple[Reading, ...]]]:
    """Ten frames a second; an expression "" is nobody."""
    found: list[tuple[float, tuple[Reading, ...]]] = []
    for expression, seconds in parts:
        for _ in range(round(10 * seconds)):
            shown = (showing(reading, expression),) if expression else ()
            found.append((len(found) / 10, shown))
    return found


def test_time_is_summed_by_expression_and_unsure_by_its_reason(
    fp32: Artifact, reading: Reading
) -> None:
    parts = moments(reading, ("happiness", 2.1), ("unsure", 1.0), ("", 1.0))
    found = collect(fp32, parts)
    assert found.expressions == pytest.approx({"happiness": 2.0, "unsure": 1.0})
    assert found.reasons == pytest.approx({"too dark": 1.0})
    assert (found.frames, found.faces, found.seconds) == (41, 1, pytest.approx(4.0))


def test_a_reading_that_is_not_confident_needs_no_reason_of_its_own(
    fp32: Artifact, reading: Reading
) -> None:
    doubtful = replace(showing(reading, "unsure"), reason="41 % sure, 50 % needed")
    found = collect(fp32, [(0.0, [doubtful]), (0.5, [doubtful])])
    assert found.reasons == {"not confident enough": 0.5}


def test_a_flicker_does_not_end_an_episode_and_a_pause_does(
    fp32: Artifact, reading: Reading
) -> None:
    flicker = (("neutral", 2.0), ("fear", 0.1), ("neutral", 2.0))
    found = collect(fp32, moments(reading, *flicker))
    assert found.episodes == {"neutral": 1, "fear": 1}
    assert found.squares["neutral"] == pytest.approx(3.9**2)
    paused = collect(fp32, moments(reading, ("neutral", 2.0), ("fear", 1.5), ("neutral", 2.0)))
    assert paused.episodes == {"neutral": 2, "fear": 1}


def test_each_face_has_episodes_of_its_own(fp32: Artifact, reading: Reading) -> None:
    both = [showing(reading, "neutral", track) for track in (1, 2)]
    found = collect(fp32, [(number / 10, both) for number in range(11)])
    assert (found.episodes, found.faces) == ({"neutral": 2}, 2)
    assert found.expressions == pytest.approx({"neutral": 2.0})
    assert found.squares == pytest.approx({"neutral": 2.0})


def test_sampled_frames_far_apart_still_make_one_episode(fp32: Artifact, reading: Reading) -> None:
    shown = [(4.0 * number, [showing(reading, "neutral")]) for number in range(5)]
    assert collect(fp32, shown, fps=0.25).expressions == {"neutral": 16.0}
    assert collect(fp32, shown, fps=0.25).episodes == {"neutral": 1}
    assert collect(fp32, shown).episodes == {"neutral": 5}


def test_a_face_counts_once_for_drift_as_it_was_last_read(fp32: Artifact, reading: Reading) -> None:
    found = collect(fp32, moments(reading, ("neutral", 11.0), ("anger", 11.0)))
    assert sum(found.confidences.values()) == 1
    assert found.labels == {str(reading.labels.index("anger")): 1}


def test_statistics_survive_json_and_a_sum_has_every_part(fp32: Artifact, reading: Reading) -> None:
    found = collect(fp32, moments(reading, ("neutral", 2.0), ("unsure", 1.0)))
    again = Statistics.from_json(json.loads(json.dumps(found.as_json())))
    assert again == found
    twice = total([found, again])
    assert twice.expressions["neutral"] == 2 * found.expressions["neutral"]
    assert twice.frames == 60
    assert total([]) == Statistics()


@pytest.mark.parametrize("damage", ["frames", "expressions"])
def test_damaged_statistics_are_refused(damage: str) -> None:
    saved = dict(Statistics().as_json()) | {damage: "none"}
    with pytest.raises(ValueError, match="none"):
        Statistics.from_json(saved)
