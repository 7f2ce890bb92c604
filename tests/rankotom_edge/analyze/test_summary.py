from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

import pytest

from rankotom_edge.analyze.read_video import Failure
from rankotom_edge.analyze.statistics import Statistics
from rankotom_edge.analyze.summary import Summary, summarise
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.readings.drift_monitor import Reference


def sums(**values: float) -> defaultdict[str, float]:
    return defaultdict(float, values)


def summary_of(fp32: Artifact, statistics: Statistics) -> Summary:
    return summarise({"a": (statistics, None)}, {}, statistics, fp32.card)


def test_unsure_comes_last_and_shares_are_of_the_time_of_all_faces(fp32: Artifact) -> None:
    statistics = Statistics(
        expressions=sums(unsure=60, neutral=10, happiness=30),
        squares=sums(unsure=600, neutral=100, happiness=300),
        episodes=sums(unsure=6, neutral=1, happiness=3),
        reasons=sums(blurred=20, **{"too dark": 40}),
    )
    summary = summary_of(fp32, statistics)
    assert [each.name for each in summary.expressions] == ["happiness", "neutral", "unsure"]
    assert [each.share for each in summary.expressions] == pytest.approx([0.3, 0.1, 0.6])
    written = json.loads(json.dumps(summary.as_json()))
    assert list(written["reasons"]) == ["too dark", "blurred"]
    assert written["reasons"]["blurred"] == {"seconds": 20, "share": 0.2}


def test_the_interval_counts_episodes_and_not_seconds(fp32: Artifact) -> None:
    """Ten episodes of 100 s say no more than ten of 1 s."""
    intervals = []
    for seconds in (1, 100):
        statistics = Statistics(
            expressions=sums(happiness=3 * seconds, neutral=7 * seconds),
            squares=sums(happiness=3 * seconds**2, neutral=7 * seconds**2),
            episodes=sums(happiness=3, neutral=7),
        )
        intervals.append(summary_of(fp32, statistics).expressions[1].interval)
    assert intervals[0] == intervals[1]
    assert intervals[0].low < 0.15
    assert intervals[0].high > 0.55


def test_what_was_seen_for_no_time_is_not_listed(fp32: Artifact) -> None:
    """As in the only frame of a video."""
    statistics = Statistics(
        expressions=sums(happiness=3, fear=0), squares=sums(happiness=9, fear=0)
    )
    assert [each.name for each in summary_of(fp32, statistics).expressions] == ["happiness"]


def test_nobody_in_sight_is_no_expression(fp32: Artifact) -> None:
    summary = summary_of(fp32, Statistics(frames=10, seconds=1))
    assert summary.expressions == ()
    assert summary.drift.words == "too few faces to tell: 0 of 60"
    json.dumps(summary.as_json(), allow_nan=False)


def test_failures_and_problems_are_named(fp32: Artifact) -> None:
    found = {"a": (Statistics(), "breaks off"), "b": (Statistics(), None)}
    summary = summarise(found, {"c": Failure("no video")}, Statistics(), fp32.card)
    assert (summary.videos, summary.failed) == (2, {"c": "no video"})
    assert summary.problems == {"a": "breaks off"}


def as_measured(fp32: Artifact, faces: int) -> Statistics:
    reference = Reference.of(fp32.card)
    shares = reference.confidences / reference.confidences.sum()
    labels = reference.labels / reference.labels.sum()
    return Statistics(
        confidences=sums(**{str(n): round(faces * share) for n, share in enumerate(shares)}),
        labels=sums(**{str(n): round(faces * share) for n, share in enumerate(labels)}),
    )


def test_faces_like_the_cards_show_no_drift(fp32: Artifact) -> None:
    drift = summary_of(fp32, as_measured(fp32, 1000)).drift
    assert (drift.kind, drift.words, drift.cause) == ("steady", "as measured", None)
    assert drift.index == pytest.approx(0, abs=0.02)


def test_confidence_that_fell_where_most_faces_are_dark_is_drift(fp32: Artifact) -> None:
    statistics = replace(
        as_measured(fp32, 300), confidences=sums(**{"5": 150, "6": 150}), poor=sums(light=200)
    )
    drift = summary_of(fp32, statistics).drift
    assert (drift.kind, drift.cause) == ("drifted", "light is low")
    assert drift.words == "confidence has drifted: light is low"


def test_confidence_that_fell_without_a_cause_in_the_pictures_is_no_alarm(fp32: Artifact) -> None:
    statistics = replace(as_measured(fp32, 300), confidences=sums(**{"5": 150, "6": 150}))
    assert summary_of(fp32, statistics).drift.kind == "steady"
    others = replace(statistics, labels=sums(**{"5": 300}))
    assert summary_of(fp32, others).drift.cause == "other expressions than usual"
