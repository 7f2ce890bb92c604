"""One rater's way through the faces."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from rankotom_edge.labelling.label_file import read_labels
from rankotom_edge.labelling.labelling import Labelling, Progress, open_labelling

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
Kept = list[tuple[str, str | None]]


def start(
    faces: list[Any], rater: str = "Anna", given: dict[str, str | None] | None = None
) -> tuple[Labelling, Kept]:
    kept: Kept = []
    labelling = Labelling(
        faces,
        EMOTIONS,
        rater,
        given=given or {},
        keep=lambda face, expression: kept.append((face.key, expression)),
        enough=5,
    )
    return labelling, kept


def keys(labelling: Labelling) -> list[str]:
    return [face.key for face in labelling.faces]


def test_every_key_gives_the_answer_that_stands_beside_it(faces: Callable[..., Any]) -> None:
    labelling, kept = start(faces(10))
    for key in "12345678":
        assert labelling.press(key)
    assert [answer for _, answer in kept] == list(EMOTIONS)
    assert labelling.press("0")
    assert labelling.press("?")
    assert [answer for _, answer in kept[8:]] == [None, None]
    assert [key for key, _ in kept] == keys(labelling)
    assert labelling.face is None
    assert labelling.complete


def test_a_key_without_meaning_changes_nothing(faces: Callable[..., Any]) -> None:
    labelling, kept = start(faces(3))
    assert not any(labelling.press(key) for key in ("9", "x", "space", "enter", "", "11"))
    assert (labelling.number, kept, labelling.finished) == (0, [], False)


def test_each_rater_has_an_order_of_their_own_that_more_faces_do_not_change(
    faces: Callable[..., Any],
) -> None:
    few, many = faces(20), faces(30)
    anna, bo = start(few)[0], start(few, "Bo")[0]
    assert keys(anna) != keys(bo) != [face.key for face in few]
    assert sorted(keys(anna)) == sorted(keys(bo))
    assert keys(start(list(reversed(few)))[0]) == keys(anna)
    known = set(keys(anna))
    assert [key for key in keys(start(many)[0]) if key in known] == keys(anna)


def test_back_changes_an_answer_and_then_goes_on_where_one_was(faces: Callable[..., Any]) -> None:
    labelling, kept = start(faces(5))
    order = keys(labelling)
    assert labelling.said_before is None
    labelling.press("b")  # there is nothing before the first
    assert labelling.number == 0
    for key in "240":
        labelling.press(key)
    assert labelling.said is None
    assert labelling.said_before == "can't tell"
    labelling.press("b")
    labelling.press("backspace")
    assert labelling.number == 1
    assert (labelling.said, labelling.said_before) == ("sadness", "happiness")
    labelling.press("5")
    assert labelling.number == 3
    assert kept[-1] == (order[1], "anger")
    assert labelling.progress == Progress(done=3, total=5, cannot_tell=1, enough=5)


def test_the_same_answer_again_is_not_written_twice(faces: Callable[..., Any]) -> None:
    labelling, kept = start(faces(3))
    for key in ("2", "b", "2"):
        labelling.press(key)
    assert len(kept) == 1
    assert labelling.number == 1


def test_an_answer_that_was_not_kept_was_not_given(faces: Callable[..., Any]) -> None:
    def refuse(face: object, expression: object) -> None:
        raise RankotomError("no room")

    labelling = Labelling(faces(3), EMOTIONS, "Anna", given={}, keep=refuse)
    with pytest.raises(RankotomError, match="no room"):
        labelling.press("1")
    assert labelling.number == 0
    assert labelling.progress.done == 0


def test_after_the_last_face_one_can_go_back_or_be_done(faces: Callable[..., Any]) -> None:
    labelling, _ = start(faces(2))
    labelling.press("1")
    labelling.press("2")
    assert labelling.complete
    assert not labelling.finished
    assert labelling.said_before == "happiness"
    labelling.press("1")  # no face is in sight
    labelling.press("b")
    assert labelling.said == "happiness"
    labelling.press("3")
    assert labelling.face is None
    labelling.press("enter")
    assert labelling.finished
    assert labelling.summary == "All 2 faces have an answer."


@pytest.mark.parametrize("key", ["q", "esc"])
def test_finishing_for_now_says_that_nothing_is_lost_and_ends_all_keys(
    faces: Callable[..., Any], key: str
) -> None:
    labelling, kept = start(faces(3))
    labelling.press("1")
    assert labelling.press(key)
    assert labelling.finished
    assert "1 of 3 faces, 2 to go" in labelling.summary
    assert "Nothing is lost" in labelling.summary
    assert not labelling.press("2")
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(34, 100, 0, 50), "34 of 100 faces, 66 to go; enough to begin from 50"),
        (Progress(34, 100, 3, 50), "34 of 100 faces, 66 to go; enough to begin from 53"),
        (Progress(50, 100, 0, 50), "50 of 100 faces, 50 to go; enough to begin"),
        (Progress(100, 100, 0, 50), "100 of 100 faces; enough to begin"),
        (Progress(0, 100, 0, None), "0 of 100 faces, 100 to go"),
        (Progress(0, 1, 0, None), "0 of 1 face, 1 to go"),
    ],
)
def test_the_progress_says_what_is_missing(progress: Progress, words: str) -> None:
    assert progress.words == words


def test_too_many_expressions_for_the_keys_are_refused(faces: Callable[..., Any]) -> None:
    names = [f"expression {number}" for number in range(10)]
    with pytest.raises(RankotomError, match="10 expressions"):
        Labelling(faces(1), names, "Anna", given={}, keep=lambda face, expression: None)


def test_it_resumes_at_the_right_face_and_raters_do_not_see_each_other(
    tmp_path: Path, faces: Callable[..., Any], model: Any
) -> None:
    path, made = tmp_path / "labels.jsonl", faces(6)

    def label(rater: str, *pressed: str) -> Labelling:
        with open_labelling(path, made, model, rater, enough=5, clock=lambda: NOON) as labelling:
            for key in pressed:
                labelling.press(key)
        return labelling

    first = label("Anna", "2", "0", "q")
    other = label("Bo")
    assert (other.number, other.said_before, other.progress.done) == (0, None, 0)
    again = label("Anna")
    assert again.face is again.faces[2]
    assert again.faces[2].key == first.faces[2].key
    assert (again.said_before, again.finished) == ("can't tell", False)
    label("Anna", "b", "8")
    assert label("Anna").said_before == "contempt"
    written = read_labels(path)
    assert [each.expression for each in written] == ["happiness", None, "contempt"]
    assert written[0].logits == tuple(first.faces[0].logits)
    assert written[0].group == first.faces[0].group
    assert {each.rater for each in written} == {"Anna"}


def test_labels_of_another_model_and_of_strange_expressions_are_asked_again(
    tmp_path: Path, faces: Callable[..., Any], model: Any, label: Callable[..., Any]
) -> None:
    made, path = faces(2), tmp_path / "labels.jsonl"
    from rankotom_edge.labelling.label_file import LabelFile

    with LabelFile(path) as file:
        file.append(label(made[0].key, sha256="6" * 64))
        file.append(label(made[1].key, expression="boredom"))
    with open_labelling(path, made, model, "Anna", enough=None, clock=lambda: NOON) as labelling:
        assert labelling.progress.done == 0
