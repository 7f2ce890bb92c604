"""Eq. 4, 5 and 6 against numbers worked out by hand."""

import math

import pytest
import torch

from train.pseudo_labels import CorrectConfidence, pseudo_label, update_thresholds


def correct_of(probabilities: list[list[float]], labels: list[int]) -> CorrectConfidence:
    correct = CorrectConfidence.empty(len(probabilities[0]))
    correct.add(torch.tensor(probabilities), torch.tensor(labels))
    return correct


def test_only_correct_faces_count_and_each_for_its_own_class() -> None:
    correct = correct_of(
        [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.4, 0.1]], [0, 0, 1, 2]
    )
    assert correct.total.tolist() == pytest.approx([1.4, 0.7, 0.0])
    assert correct.count.tolist() == [2, 1, 0]


def test_batches_of_an_epoch_add_up() -> None:
    correct = correct_of([[0.8, 0.2]], [0])
    correct.add(torch.tensor([[0.6, 0.4], [0.1, 0.9]]), torch.tensor([0, 1]))
    assert correct.total.tolist() == pytest.approx([1.4, 0.9])
    assert correct.count.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("epoch", "ramp"),
    [
        (0, 0.97 / 2),
        (1, 0.97 * 0.73105858),  # 1 / (1 + e^-1)
        (2, 0.97 * 0.88079708),
        (40, 0.97),
    ],
)
def test_a_threshold_is_the_ramp_times_the_mean_confidence_of_the_correct(
    epoch: int, ramp: float
) -> None:
    correct = correct_of([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]], [0, 0, 1])
    thresholds = update_thresholds(torch.tensor([0.95, 0.95]), correct, epoch, beta=0.97)
    assert thresholds.tolist() == pytest.approx([ramp * 0.7, ramp * 0.9])


def test_a_class_without_correct_faces_keeps_its_threshold() -> None:
    correct = correct_of([[0.8, 0.2], [0.6, 0.4]], [0, 1])
    before = torch.tensor([0.95, 0.41], dtype=torch.float64)
    after = update_thresholds(before, correct, 3, beta=0.97)
    assert after[1] == 0.41
    assert after[0] == pytest.approx(0.97 / (1 + math.exp(-3)) * 0.8)


def test_the_two_views_are_interpolated_half_and_half() -> None:
    pseudo = pseudo_label(
        torch.tensor([[0.9, 0.1, 0.0]]), torch.tensor([[0.5, 0.3, 0.2]]), torch.zeros(3)
    )
    assert pseudo.probabilities[0].tolist() == pytest.approx([0.7, 0.2, 0.1])


def test_a_face_under_every_threshold_takes_no_part() -> None:
    view = torch.tensor([[0.6, 0.4], [0.96, 0.04]])
    assert pseudo_label(view, view, torch.tensor([0.95, 0.95])).kept.tolist() == [False, True]


def test_a_confidence_at_its_threshold_does_not_pass() -> None:
    view = torch.tensor([[0.75, 0.25]])
    assert pseudo_label(view, view, torch.tensor([0.75, 0.75])).kept.tolist() == [False]


def test_the_label_is_the_best_of_the_classes_that_pass_not_the_best_of_all() -> None:
    view = torch.tensor([[0.5, 0.3, 0.2]])
    pseudo = pseudo_label(view, view, torch.tensor([0.9, 0.25, 0.1]))
    assert pseudo.kept.tolist() == [True]
    assert pseudo.labels.tolist() == [1]


def test_views_that_disagree_about_a_face_leave_it_out() -> None:
    pseudo = pseudo_label(
        torch.tensor([[0.98, 0.02]]), torch.tensor([[0.02, 0.98]]), torch.tensor([0.9, 0.9])
    )
    assert pseudo.kept.tolist() == [False]


def test_targets_are_the_label_of_eq_6_or_the_mixture_of_eq_5() -> None:
    view = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    pseudo = pseudo_label(view, view, torch.tensor([0.5, 0.5, 0.5]))
    assert pseudo.targets("label").tolist() == [[1, 0, 0], [0, 1, 0]]
    assert (pseudo.targets("probabilities") == view).all()


def test_a_lesser_class_wins_as_written_and_not_if_only_the_top_class_may_pass() -> None:
    view = torch.tensor([[0.6, 0.4], [0.9, 0.1]])
    thresholds = torch.tensor([0.7, 0.3])
    written = pseudo_label(view, view, thresholds)
    assert written.labels.tolist() == [1, 0]
    assert written.kept.tolist() == [True, True]
    top_only = pseudo_label(view, view, thresholds, top_only=True)
    assert top_only.kept.tolist() == [False, True]
    assert top_only.labels[1] == 0
