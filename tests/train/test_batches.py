"""A step's faces and draws are a function of seed, epoch and step, on every rank."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from calib.errors import RankotomError
from train.batches import (
    Batch,
    TrainingFaces,
    batches,
    class_repeats,
    oversampling_tilt,
    steps_per_epoch,
)
from train.ranks import Ranks
from train.recipe import Recipe

CPU = torch.device("cpu")


def all_batches(
    recipe: Recipe, faces: TrainingFaces, epoch: int = 0, rank: int = 0, world: int = 1
) -> list[Batch]:
    return list(batches(recipe, faces, epoch, Ranks(rank, world, CPU), CPU))


def numbered(faces: TrainingFaces) -> TrainingFaces:
    """Every pixel of a face is the face's number."""

    def pixels(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        return np.broadcast_to(
            np.arange(count, dtype=np.uint8)[:, None, None, None], (count, 1, 4, 4)
        )

    assert faces.fr is not None
    return replace(faces, fer=pixels(len(faces.fer)), fr=pixels(len(faces.fr)))


def numbers(pixels: torch.Tensor | None) -> list[int]:
    assert pixels is not None
    return [int(each) for each in pixels[:, 0, 0, 0]]


def test_an_epoch_shows_every_face_once(recipe: Recipe, faces: TrainingFaces) -> None:
    seen = [n for batch in all_batches(recipe, numbered(faces)) for n in numbers(batch.fer)]
    assert sorted(seen) == list(range(32))
    assert seen != sorted(seen)


def test_labels_and_targets_go_with_their_faces(recipe: Recipe, faces: TrainingFaces) -> None:
    for batch in all_batches(recipe, numbered(faces)):
        assert batch.labels.tolist() == [n % 4 for n in numbers(batch.fer)]
        assert batch.targets.argmax(dim=1).tolist() == batch.labels.tolist()


def test_faces_that_do_not_fill_a_batch_are_left_for_another_epoch(
    recipe: Recipe, make_faces: Callable[[int], TrainingFaces]
) -> None:
    faces = numbered(make_faces(30))
    assert steps_per_epoch(recipe, faces) == 3
    left_out = [
        set(range(30))
        - {n for batch in all_batches(recipe, faces, epoch) for n in numbers(batch.fer)}
        for epoch in range(2)
    ]
    assert len(left_out[0]) == 6
    assert left_out[0] != left_out[1]


def test_few_faces_without_labels_are_used_equally_often(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    seen = [n for batch in all_batches(recipe, numbered(faces)) for n in numbers(batch.fr)]
    assert len(seen) == 32
    assert sorted(set(seen)) == list(range(13))
    assert {seen.count(n) for n in range(13)} <= {2, 3}


def test_the_same_seed_and_epoch_give_the_same_batches(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    for first, again in zip(
        all_batches(recipe, faces, 3), all_batches(recipe, faces, 3), strict=True
    ):
        assert torch.equal(first.fer, again.fer)
        assert torch.equal(first.draws.transform, again.draws.transform)
        assert torch.equal(first.fer_above, again.fer_above)
        assert first.seed == again.seed


@pytest.mark.parametrize("changed", ["epoch", "seed"])
def test_another_epoch_or_seed_gives_other_batches(
    recipe: Recipe, faces: TrainingFaces, changed: str
) -> None:
    first = all_batches(recipe, faces)[0]
    other = (
        all_batches(recipe, faces, 1)[0]
        if changed == "epoch"
        else all_batches(replace(recipe, seed=1), faces)[0]
    )
    assert not torch.equal(first.fer, other.fer)
    assert not torch.equal(first.draws.transform, other.draws.transform)


def test_the_two_views_of_a_face_are_distinct_and_weak_however_strong_the_recipe(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    strong = replace(recipe, strength=replace(recipe.strength, rotation=30.0, erase=0.5))
    view_a, view_b, trained = all_batches(strong, faces)[0].fr_draws
    assert not torch.equal(view_a.transform, view_b.transform)
    for view in (view_a, view_b):
        assert (view.transform[:, 0, 1] == 0).all()
        assert (view.erased[:, 2] == 0).all()
    assert (trained.transform[:, 0, 1] != 0).any()


@pytest.mark.parametrize("partners", [1.0, 0.5])
def test_two_ranks_together_see_the_batch_of_one_with_the_same_pairs(
    recipe: Recipe, faces: TrainingFaces, partners: float
) -> None:
    recipe, faces = replace(recipe, partners=partners), numbered(faces)
    alone = all_batches(recipe, faces)[1]
    shares = [all_batches(recipe, faces, rank=rank, world=2)[1] for rank in range(2)]
    assert sorted(numbers(alone.fer)) == sorted(n for share in shares for n in numbers(share.fer))

    def pairs(batch: Batch) -> list[tuple[int, int, bool]]:
        return list(
            zip(numbers(batch.fer), numbers(batch.fr), batch.fer_above.tolist(), strict=False)
        )

    assert pairs(alone) == pairs(shares[0]) + pairs(shares[1])
    whole = dict(zip(numbers(alone.fer), alone.draws.transform, strict=True))
    for share in shares:
        for number, transform in zip(numbers(share.fer), share.draws.transform, strict=True):
            assert torch.equal(transform, whole[number])


def test_without_faces_of_face_recognition_neighbours_stay_on_one_rank(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    recipe, faces = replace(recipe, partners=0.5, face_recognition=False), numbered(faces)
    alone = numbers(all_batches(recipe, faces)[0].fer)[:4]
    shares = [numbers(all_batches(recipe, faces, rank=rank, world=2)[0].fer) for rank in range(2)]
    assert [share[:2] for share in shares] == [alone[:2], alone[2:]]
    with pytest.raises(RankotomError, match=r"4 faces.*among 4 processes, in pairs"):
        all_batches(recipe, faces, world=4)


def test_a_batch_that_cannot_be_divided_is_an_error_that_says_what_to_change(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    with pytest.raises(RankotomError, match=r"8 faces.*among 3 processes.*torchrun"):
        all_batches(recipe, faces, world=3)


def test_without_partners_there_are_no_faces_of_face_recognition(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    for without in (replace(recipe, partners=0.0), replace(recipe, partners_from=1.0)):
        batch = all_batches(without, faces)[0]
        assert batch.fr is None
        assert len(batch.fer) == 8
        assert len(batch.fer_above) == 0


def test_too_few_faces_for_a_batch_are_an_error(
    recipe: Recipe, make_faces: Callable[[int], TrainingFaces]
) -> None:
    with pytest.raises(RankotomError, match=r"7 training faces.*batch of 8"):
        make_faces(7).check(recipe)


def test_a_recipe_that_needs_unlabelled_faces_says_so(recipe: Recipe, faces: TrainingFaces) -> None:
    assert faces.fr is not None
    for fr in (None, faces.fr[:0]):
        with pytest.raises(RankotomError, match="toy needs face-recognition faces"):
            replace(faces, fr=fr).check(recipe)
    replace(faces, fr=None).check(replace(recipe, face_recognition=False))


def with_a_rare_class(faces: TrainingFaces) -> TrainingFaces:
    """Of 32 faces 2 are of the class 3, and 10 of each other class."""
    labels = np.array([3, 3] + [0, 1, 2] * 10)
    return replace(faces, labels=labels, targets=np.eye(4, dtype=np.float32)[labels])


def test_faces_of_a_rare_class_come_more_often_and_all_others_still_once(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    faces = with_a_rare_class(numbered(faces))
    oversampled = replace(recipe, oversample=1.0)
    seen = [n for batch in all_batches(oversampled, faces) for n in numbers(batch.fer)]
    assert class_repeats(oversampled, faces).tolist() == [1, 1, 1, 5]
    assert steps_per_epoch(oversampled, faces) == 40 // recipe.batch
    assert len(seen) == 40
    assert [seen.count(n) for n in range(32)] == [5, 5] + [1] * 30
    assert seen != [n for batch in all_batches(oversampled, faces, 1) for n in numbers(batch.fer)]


def test_only_the_labels_share_of_a_target_is_corrected_for_oversampling(
    recipe: Recipe, faces: TrainingFaces
) -> None:
    faces, oversampled = with_a_rare_class(faces), replace(recipe, oversample=1.0)
    for settings, share in (
        ({"targets": "majority"}, 1.0),
        ({"targets": "both"}, 0.5),
        ({"targets": "both", "distil": 0.7}, 0.15),
        ({"targets": "votes"}, 0.0),
    ):
        tilt = oversampling_tilt(replace(oversampled, **settings), faces)
        assert tilt.tolist() == pytest.approx([0, 0, 0, share * np.log(5)])
    assert not oversampling_tilt(recipe, faces).any()


def test_without_oversampling_each_class_comes_once(recipe: Recipe, faces: TrainingFaces) -> None:
    faces = with_a_rare_class(numbered(faces))
    assert class_repeats(recipe, faces).tolist() == [1, 1, 1, 1]
    assert steps_per_epoch(recipe, faces) == 32 // recipe.batch


def test_faces_that_are_blended_are_not_damaged(recipe: Recipe, faces: TrainingFaces) -> None:
    damaged = replace(recipe, damaged=1.0, partners=0.5)
    plain = replace(damaged, damaged=0.0)
    for one, other in zip(all_batches(damaged, faces), all_batches(plain, faces), strict=True):
        differs = (one.fer != other.fer).flatten(1).any(dim=1)
        assert not differs[: len(one.fer_above)].any()
        assert differs[len(one.fer_above) :].all()
