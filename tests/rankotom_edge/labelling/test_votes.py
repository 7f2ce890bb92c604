"""From labels to arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.trial_gate import FEWEST_GROUPS
from rankotom_edge.labelling.votes import NO_VOTE, count_votes

HAPPY, SAD = EMOTIONS.index("happiness"), EMOTIONS.index("sadness")


def test_each_raters_newest_answer_counts(label: Callable[..., Any], model: Any) -> None:
    labels = [
        label("f1", "Anna"),
        label("f2", "Anna", expression=None),
        label("f1", "Bo", expression="sadness"),
        label("f2", "Bo"),
        label("f1", "Anna", expression="sadness"),  # changed her mind
    ]
    votes = count_votes(labels, model)
    assert votes.faces == ("f1", "f2")
    assert votes.raters == ("Anna", "Bo")
    assert votes.by_rater.tolist() == [[SAD, SAD], [NO_VOTE, HAPPY]]
    counts = np.zeros((2, len(EMOTIONS)))
    counts[0, SAD], counts[1, HAPPY] = 2, 1
    assert votes.counts.tolist() == counts.tolist()
    assert votes.left_out.words == ()


def test_logits_and_groups_go_with_their_faces(label: Callable[..., Any], model: Any) -> None:
    logits = {face: tuple(np.random.default_rng(face).normal(size=8).tolist()) for face in range(4)}
    labels = [
        label(f"f{face}", rater, logits=logits[face], group=f"track {face % 2}")
        for rater in ("Bo", "Anna")
        for face in (3, 1, 0)
    ]
    votes = count_votes(labels, model)
    assert votes.faces == ("f3", "f1", "f0")
    assert votes.groups.tolist() == [0, 0, 1]
    assert votes.logits.tolist() == [list(logits[face]) for face in (3, 1, 0)]


def test_what_is_left_out_is_said(label: Callable[..., Any], model: Any) -> None:
    labels = [
        label("f1"),
        label("f1", sha256="6" * 64),
        label("f2", expression="boredom"),
        label("f3", expression=None),
        label("f4"),
    ]
    votes = count_votes(labels, model, {"f1", "f2", "f3"})
    assert votes.faces == ("f1",)
    assert votes.left_out.words == (
        "left out: 1 label of another model",
        "left out: 1 label of an expression that this model does not have",
        "left out: 1 face labelled before and not among these",
        "left out: 1 face of which nobody could tell",
    )


def test_no_votes_are_empty_arrays(model: Any) -> None:
    votes = count_votes([], model)
    assert votes.logits.shape == votes.counts.shape == (0, 8)
    assert votes.groups.shape == (0,)
    assert votes.by_rater.shape == (0, 0)


def test_a_wrong_number_of_logits_is_an_error(label: Callable[..., Any], model: Any) -> None:
    with pytest.raises(RankotomError, match="face f2 has 7 logits, and ferplus-int8 has 8"):
        count_votes([label("f1"), label("f2", logits=(0.0,) * 7)], model)


def test_with_enough_people_their_faces_stay_together_and_with_few_their_moments_count(
    label: Callable[..., Any], model: Any
) -> None:
    def votes_of(people: int) -> Any:
        groups = [
            f"run/track {number}/{moment} s" for number in range(people) for moment in (0, 20)
        ]
        labels = [label(f"f{face}", group=group) for face, group in enumerate(groups)]
        return count_votes(labels, model)

    few, many = votes_of(FEWEST_GROUPS - 1), votes_of(FEWEST_GROUPS)
    assert len(set(few.groups.tolist())) == 2 * (FEWEST_GROUPS - 1)
    assert few.people == FEWEST_GROUPS - 1
    assert many.groups.tolist() == [number for number in range(FEWEST_GROUPS) for _ in (0, 1)]
    assert many.people is None
