from collections.abc import Callable

import numpy as np
import pytest

from rankotom_edge.labelling import episodes
from rankotom_edge.labelling.episodes import GAP, LONGEST, SHORTEST, Episodes
from rankotom_edge.labelling.face import FaceToLabel


def face(key: str) -> FaceToLabel:
    return FaceToLabel(key, "track 1", np.zeros((2, 2, 3), np.uint8), np.zeros(8))


def make(key: str) -> Callable[[], FaceToLabel]:
    return lambda: face(key)


def watch(watched: Episodes, track: int, expression: str, start: float, seconds: float) -> None:
    for step in range(round(seconds * 10) + 1):
        time = start + step / 10
        watched.add(track, time, expression, make(f"{track} {expression} {time:.1f}"))


def test_each_expression_of_a_track_gives_one_face() -> None:
    watched = Episodes()
    watch(watched, 1, "happiness", 0.0, 2.0)
    watch(watched, 1, "neutral", 2.1, 2.0)
    watch(watched, 2, "neutral", 0.0, 2.0)
    assert sorted(each.key.rsplit(" ", 1)[0] for each in watched.faces()) == [
        "1 happiness",
        "1 neutral",
        "2 neutral",
    ]


def test_a_long_expression_gives_a_face_every_ten_seconds() -> None:
    watched = Episodes()
    watch(watched, 1, "neutral", 0.0, 3 * LONGEST - 0.1)
    assert len(watched.faces()) == 3


def test_a_flicker_gives_no_face() -> None:
    watched = Episodes()
    watch(watched, 1, "fear", 0.0, SHORTEST - 0.1)
    watch(watched, 1, "neutral", SHORTEST, 1.0)
    assert [each.key.split()[1] for each in watched.faces()] == ["neutral"]


def test_a_face_that_was_gone_begins_another_episode() -> None:
    watched = Episodes()
    watch(watched, 1, "neutral", 0.0, 2.0)
    watch(watched, 1, "neutral", 2.0 + GAP, 2.0)
    assert len(watched.faces()) == 2


def test_a_source_that_starts_again_begins_another_episode() -> None:
    watched = Episodes()
    watch(watched, 1, "neutral", 5.0, 2.0)
    watch(watched, 1, "neutral", 0.0, 2.0)
    assert len(watched.faces()) == 2


def test_every_moment_of_an_episode_is_as_likely_as_another() -> None:
    moments = []
    for track in range(400):
        watched = Episodes()
        watch(watched, track, "neutral", 0.0, 1.0)
        moments.append(float(watched.faces()[0].key.split()[-1]))
    counts = np.bincount([round(10 * each) for each in moments], minlength=11)
    # 36 expected of each of the eleven; the seeds are the tracks' numbers, so this never changes.
    assert counts.min() > 18
    assert counts.max() < 60


def test_the_same_readings_give_the_same_faces() -> None:
    keys = []
    for _ in range(2):
        watched = Episodes()
        watch(watched, 7, "sadness", 0.0, 3.0)
        keys.append([each.key for each in watched.faces()])
    assert keys[0] == keys[1]


def test_a_face_is_cut_out_for_few_moments_only() -> None:
    cut: list[int] = []

    def cut_one() -> FaceToLabel:
        cut.append(1)
        return face("x")

    watched = Episodes()
    for step in range(300):
        watched.add(1, step / 100, "neutral", cut_one)
    assert len(cut) < 20


def test_no_more_faces_are_kept_than_memory_is_meant_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "MOST_FACES", 3)
    watched = Episodes()
    for track in range(5):
        watch(watched, track, "neutral", 0.0, 1.0)
    assert len(watched.faces()) == 3
    assert watched.full
