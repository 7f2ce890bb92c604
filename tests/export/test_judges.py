from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from calib.errors import RankotomError
from calib.limits import Limits
from calib.temperature import fit_temperature, softmax
from export.faces import unlabelled_faces
from export.judges import LabelledJudge, UnlabelledJudge, check_face_count, check_parent_accuracy
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier

MakeJudge = Callable[..., LabelledJudge]


@pytest.fixture(scope="module")
def labelled(fp32: Artifact, judge_of: MakeJudge) -> LabelledJudge:
    return judge_of(fp32, limits=Limits(ece=0.01, aece=0.01, accuracy=0.01, flips=0.02))


@pytest.fixture(scope="module")
def unlabelled(fp32: Artifact, portraits: NDArray[np.uint8]) -> UnlabelledJudge:
    calibration = unlabelled_faces("a/calibrate", portraits[:200])
    held_out = unlabelled_faces("a/judge", portraits[200:400])
    return UnlabelledJudge.of_parent(fp32, calibration, held_out, Limits())


def run(artifact: Artifact, faces: NDArray[np.uint8], noise: float = 0.0) -> NDArray[np.float64]:
    logits = Classifier(artifact).classify(faces).logits.astype(np.float64)
    return logits + np.random.default_rng(3).normal(0, noise, logits.shape)


@pytest.mark.parametrize("kind", ["labelled", "unlabelled"])
def test_the_parent_itself_does_not_degrade_and_passes(
    kind: str, fp32: Artifact, request: pytest.FixtureRequest
) -> None:
    judge = request.getfixturevalue(kind)
    logits = run(fp32, judge.calibration.pixels)
    temperature = fp32.card.temperature
    assert judge.degradation(logits, temperature).nll == pytest.approx(0, abs=1e-6)
    assert judge.fit_temperature(logits) == pytest.approx(temperature, rel=1e-3)
    judgement = judge.judge(run(fp32, judge.held_out.pixels), temperature)
    assert judgement.verdict.passed


@pytest.mark.parametrize("kind", ["labelled", "unlabelled"])
def test_noise_on_the_logits_degrades_and_fails(
    kind: str, fp32: Artifact, request: pytest.FixtureRequest
) -> None:
    judge = request.getfixturevalue(kind)
    noisy = run(fp32, judge.calibration.pixels, noise=2.0)
    temperature = judge.fit_temperature(noisy)
    assert judge.degradation(noisy, temperature).nll > 0.05
    judgement = judge.judge(run(fp32, judge.held_out.pixels, noise=2.0), temperature)
    assert not judgement.verdict.passed
    assert "predicted emotion changed" in " ".join(judgement.verdict.reasons)


def test_faces_that_would_move_the_parents_own_temperature_are_not_held_against_a_candidate(
    labelled: LabelledJudge, fp32: Artifact
) -> None:
    """Every tenth label wrong: the parent itself would be refitted hotter by these faces."""
    wrong = labelled.calibration.labels.copy()
    wrong[::10] = (wrong[::10] + 1) % len(fp32.card.labels)
    judge = replace(labelled, calibration=replace(labelled.calibration, labels=wrong))
    logits = run(fp32, judge.calibration.pixels)
    assert fit_temperature(logits, wrong) > 1.2 * fp32.card.temperature
    assert judge.fit_temperature(logits) == pytest.approx(fp32.card.temperature, rel=1e-3)
    assert judge.fit_temperature(2 * logits) == pytest.approx(2 * fp32.card.temperature, rel=1e-3)


def test_a_wrong_temperature_breaks_only_calibration_and_only_labels_show_it(
    labelled: LabelledJudge, unlabelled: UnlabelledJudge, fp32: Artifact
) -> None:
    hot = 4 * fp32.card.temperature
    judgement = labelled.judge(run(fp32, labelled.held_out.pixels), hot)
    assert [reason.split()[0] for reason in judgement.verdict.reasons] == ["ECE", "AECE"]
    assert judgement.drift is not None
    assert judgement.drift.flips.rate == 0
    assert unlabelled.judge(run(fp32, unlabelled.held_out.pixels), hot).verdict.passed


def test_the_temperature_without_labels_follows_the_parents_confidence(
    unlabelled: UnlabelledJudge, fp32: Artifact
) -> None:
    logits = 3 * run(fp32, unlabelled.calibration.pixels)
    temperature = unlabelled.fit_temperature(logits)
    assert temperature == pytest.approx(3 * fp32.card.temperature, rel=1e-3)
    np.testing.assert_allclose(
        softmax(logits, temperature), unlabelled.parent_on_calibration, atol=1e-3
    )


def test_too_few_faces_to_be_sure_of_agreement_are_reported(
    unlabelled: UnlabelledJudge, fp32: Artifact
) -> None:
    few = replace(
        unlabelled,
        held_out=unlabelled_faces("a/judge", unlabelled.held_out.pixels[:60]),
        parent_on_held_out=unlabelled.parent_on_held_out[:60],
    )
    verdict = few.judge(run(fp32, few.held_out.pixels), fp32.card.temperature).verdict
    assert verdict.passed
    (doubt,) = verdict.unsure
    assert "60 faces are too few to be sure" in doubt


def test_faces_on_which_the_parent_fails_are_refused(
    labelled: LabelledJudge, fp32: Artifact
) -> None:
    check_parent_accuracy(fp32.card, labelled.parent_on_calibration, labelled.calibration.used)
    right = labelled.parent_on_calibration
    wrong = replace(right, labels=(right.labels + 1) % 8)
    with pytest.raises(RankotomError, match="not what it was trained for"):
        check_parent_accuracy(fp32.card, wrong, labelled.calibration.used)


def test_a_handful_of_faces_is_refused(labelled: LabelledJudge) -> None:
    used = labelled.calibration.used
    check_face_count(used, labelled.held_out.used)
    with pytest.raises(RankotomError, match="has 3 faces, and at least 20 are needed"):
        check_face_count(used, replace(used, count=3))


def test_a_labelled_judge_runs_the_parent_on_both_parts(
    labelled: LabelledJudge, fp32: Artifact
) -> None:
    parts = labelled.calibration, labelled.held_out
    made = LabelledJudge.of_parent(fp32, *parts, labelled.limits, resamples=50, seed=0)
    for found, expected in (
        (made.parent_on_calibration, labelled.parent_on_calibration),
        (made.parent_on_held_out, labelled.parent_on_held_out),
    ):
        np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)
        np.testing.assert_array_equal(found.labels, expected.labels)
