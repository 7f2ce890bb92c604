from dataclasses import dataclass

import numpy as np
import pytest

from calib import try_calibration as module
from calib.arrays import FloatArray, IntArray
from calib.errors import RankotomError
from calib.label_trial import LabelTrial
from calib.own_calibration import OwnCalibration
from calib.rater import vote_matrix
from calib.try_calibration import shifted_interval, split_groups, try_calibration


@dataclass(frozen=True, eq=False)
class Labelled:
    logits: FloatArray
    votes: IntArray

    def trial(self, too_sure: float = 1.0, groups: IntArray | None = None) -> LabelTrial:
        own = np.arange(len(self.logits)) if groups is None else groups
        return try_calibration(self.logits * too_sure, self.votes, own, resamples=40)


def label(faces: int, raters: int = 2, seed: int = 0) -> Labelled:
    """Faces of a calibrated model: logits times 1.5 are of a model that is too sure."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 1, (faces, 8)) + 3 * np.eye(8)[random.integers(0, 8, faces)]
    truth = [random.choice(8, p=row) for row in OwnCalibration().apply(logits)]
    votes = [random.multinomial(raters, vote_matrix(8)[each]) for each in truth]
    return Labelled(logits, np.stack(votes).astype(np.int64))


def test_the_gate_leaves_calibrated_models_alone_and_acts_where_one_is_too_sure() -> None:
    """Without the gate it would act always, and if votes were taken for the truth almost always:
    raters differ from the majority on a quarter of the faces, as if the model were too sure. Of
    200 calibrated samples it acts on 8 %."""
    samples = [label(150, seed=seed) for seed in range(24)]
    calibrated = [sample.trial() for sample in samples]
    too_sure = [sample.trial(too_sure=1.7) for sample in samples]
    assert sum(trial.verdict.passed for trial in calibrated) <= 6
    assert sum(trial.verdict.passed for trial in too_sure) >= 19
    acting = [trial.calibration.temperature for trial in too_sure if trial.verdict.passed]
    assert 1.35 < np.mean(acting) < 1.9


def test_votes_taken_for_the_truth_would_ruin_a_calibrated_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the test above would see without the rater model."""
    samples = [label(150, seed=seed) for seed in range(8)]
    weighed = [sample.trial().calibration.temperature for sample in samples]
    plain = np.full((8, 8), 0.001 / 7) + (0.999 - 0.001 / 7) * np.eye(8)
    monkeypatch.setattr("calib.rater.VOTE_GIVEN_MAJORITY", plain)
    taken = [sample.trial().calibration.temperature for sample in samples]
    assert np.mean(weighed) == pytest.approx(1, abs=0.1)
    assert np.mean(taken) > 1.2


def test_twenty_labels_are_refused_with_the_reason_and_what_is_missing() -> None:
    trial = label(20, raters=1).trial(too_sure=1.7)
    assert not trial.verdict.passed
    assert "at least 30 are needed" in trial.verdict.reasons[0]
    assert trial.labels_to_go is not None
    assert trial.labels_to_go >= 10


def test_many_labels_of_a_calibrated_model_settle_that_nothing_is_needed() -> None:
    trial = label(3000).trial()
    assert not trial.verdict.passed
    assert "right as it is" in trial.verdict.reasons[0]
    assert trial.labels_to_go is None


def test_copies_of_a_face_in_one_group_add_no_evidence() -> None:
    sample = label(60)
    copies = Labelled(np.repeat(sample.logits, 5, axis=0), np.repeat(sample.votes, 5, axis=0))
    once = sample.trial(too_sure=1.7)
    grouped = copies.trial(too_sure=1.7, groups=np.repeat(np.arange(60), 5))
    assert grouped.groups == 60
    assert grouped.evidence.weight == pytest.approx(0.2)
    assert grouped.evidence.gain == pytest.approx(once.evidence.gain, rel=1e-4)
    assert grouped.calibration.temperature == pytest.approx(once.calibration.temperature, rel=1e-3)


def test_a_group_is_never_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fit but the one to all faces leaves out whole groups."""
    groups = np.repeat(np.arange(20), 3)
    sample = label(60)
    fitted: list[set[int]] = []
    fit = module.fit_calibration

    def watch(logits: FloatArray, *rest: object, **named: object) -> OwnCalibration:
        rows = [int(np.flatnonzero((sample.logits == row).all(axis=1))[0]) for row in logits]
        fitted.append(set(rows))
        return fit(logits, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "fit_calibration", watch)
    sample.trial(groups=groups)
    assert len(fitted) == 1 + module.FOLDS
    for rows in fitted:
        assert all(
            len(rows & {3 * each, 3 * each + 1, 3 * each + 2}) in (0, 3) for each in range(20)
        )
    left_out = [set(range(60)) - rows for rows in fitted[1:]]
    assert sorted(row for rows in left_out for row in rows) == list(range(60))


def test_the_parts_are_of_equal_size() -> None:
    assert np.bincount(split_groups(23, seed=0)).tolist() == [5, 5, 5, 4, 4]


def test_a_face_that_nobody_could_tell_is_counted_and_left_out() -> None:
    sample = label(40)
    votes = sample.votes.copy()
    votes[:4] = 0
    trial = Labelled(sample.logits, votes).trial()
    kept = Labelled(sample.logits[4:], sample.votes[4:]).trial()
    assert (trial.faces, trial.unlabelled, trial.labels) == (36, 4, 72)
    assert trial.calibration == kept.calibration


def test_without_any_label_it_says_so() -> None:
    with pytest.raises(RankotomError, match="None of the 3 faces has a label"):
        try_calibration(np.zeros((3, 8)), np.zeros((3, 8)), np.arange(3))


def test_groups_of_another_number_of_faces_are_refused() -> None:
    with pytest.raises(RankotomError, match="There are 3 faces, but the groups"):
        try_calibration(np.zeros((3, 8)), np.eye(8)[:3], np.arange(2))


@pytest.mark.parametrize("faces", [1, 2, 40])
def test_one_group_is_refused_and_measured_as_shipped(faces: int) -> None:
    trial = label(faces).trial(groups=np.zeros(faces, np.int64))
    assert not trial.verdict.passed
    assert trial.before == trial.after
    assert trial.intervals == {}
    assert "The labels are of 1 independent face" in trial.verdict.reasons[0]


def test_one_rater_only_leaves_agreement_unknown() -> None:
    trial = label(60, raters=1).trial()
    assert trial.raters.observed is None
    assert trial.labels == 60


def test_labels_that_are_all_the_same_do_no_harm() -> None:
    sample = label(60)
    same = np.zeros_like(sample.votes)
    same[:, 0] = 2
    trial = Labelled(sample.logits, same).trial()
    assert np.isfinite(trial.calibration.temperature)
    assert 0 <= (trial.after.ece.value or 0) <= 1


def test_equal_logits_are_measured_and_left_alone() -> None:
    trial = Labelled(np.zeros((40, 8)), label(40).votes).trial()
    assert trial.calibration.temperature == pytest.approx(1)
    assert not trial.verdict.passed


def test_raters_who_guess_are_refused() -> None:
    random = np.random.default_rng(0)
    guesses = np.stack([random.multinomial(2, np.full(8, 1 / 8)) for _ in range(150)])
    trial = Labelled(label(150).logits, guesses.astype(np.int64)).trial()
    assert not trial.verdict.passed
    assert any("Label those faces again" in reason for reason in trial.verdict.reasons)


def test_another_mix_of_expressions_is_met_by_offsets_where_there_are_many_labels() -> None:
    """A user who is sad four times as often as the model expects."""
    random = np.random.default_rng(0)
    logits = random.normal(0, 1, (400, 8)) + 2 * np.eye(8)[random.integers(0, 8, 400)]
    shifted = OwnCalibration(1.0, (0.0, 0.0, 0.0, 1.4, 0.0, 0.0, 0.0, 0.0)).apply(logits)
    truth = [random.choice(8, p=row) for row in shifted]
    votes = np.stack([random.multinomial(2, vote_matrix(8)[each]) for each in truth])
    trial = try_calibration(logits, votes, np.arange(400), resamples=40)
    assert trial.verdict.passed
    assert int(np.argmax(trial.calibration.offsets)) == 3
    few = try_calibration(logits[:150], votes[:150], np.arange(150), resamples=40)
    assert few.calibration.offsets == ()


def test_an_interval_is_centred_on_the_value_and_holds_it() -> None:
    interval = shifted_interval(0.5, np.linspace(1.0, 2.0, 101))
    assert (interval.low, interval.high) == pytest.approx((0.025, 0.975))
