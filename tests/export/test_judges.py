from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from calib.errors import RankotomError
from calib.limits import Limits
from calib.temperature import fit_temperature, softmax
from export.judges import WithLabels, WithoutLabels, check_enough, check_known_faces
from export.predict import faces_hash
from export.unlabelled import UnlabelledFaces
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import FacesUsed
from rankotom_edge.model.classifier import Classifier

MakeJudge = Callable[..., WithLabels]


def used(name: str, pixels: NDArray[np.uint8]) -> FacesUsed:
    return FacesUsed(name, len(pixels), faces_hash(pixels, np.zeros(0, np.int64)))


@pytest.fixture(scope="module")
def labelled(fp32: Artifact, judge_of: MakeJudge) -> WithLabels:
    return judge_of(fp32, limits=Limits(ece=0.01, aece=0.01, accuracy=0.01, flips=0.02))


@pytest.fixture(scope="module")
def unlabelled(fp32: Artifact, portraits: NDArray[np.uint8]) -> WithoutLabels:
    calibrate, judge = portraits[:200], portraits[200:400]
    faces = UnlabelledFaces(
        calibrate, judge, used("a/calibrate", calibrate), used("a/judge", judge), None
    )
    classifier = Classifier(fp32)
    choosing, judging = (
        classifier.classify(pixels).probabilities.astype(np.float64)
        for pixels in (calibrate, judge)
    )
    return WithoutLabels(faces, choosing, judging, fp32.card.labels)


def asked(artifact: Artifact, faces: NDArray[np.uint8], noise: float = 0.0) -> NDArray[np.float64]:
    logits = Classifier(artifact).classify(faces).logits.astype(np.float64)
    return logits + np.random.default_rng(3).normal(0, noise, logits.shape)


@pytest.mark.parametrize("kind", ["labelled", "unlabelled"])
def test_the_parent_itself_does_no_harm_and_passes(
    kind: str, fp32: Artifact, request: pytest.FixtureRequest
) -> None:
    judge = request.getfixturevalue(kind)
    logits = asked(fp32, judge.choosing)
    temperature = fp32.card.temperature
    assert judge.harm(logits, temperature).nll == pytest.approx(0, abs=1e-6)
    assert judge.fit(logits) == pytest.approx(temperature, rel=1e-3)
    judged = judge.judged(asked(fp32, judge.judging), temperature)
    assert judged.verdict.passed


@pytest.mark.parametrize("kind", ["labelled", "unlabelled"])
def test_noise_on_the_logits_is_harm_and_fails(
    kind: str, fp32: Artifact, request: pytest.FixtureRequest
) -> None:
    judge = request.getfixturevalue(kind)
    noisy = asked(fp32, judge.choosing, noise=2.0)
    temperature = judge.fit(noisy)
    assert judge.harm(noisy, temperature).nll > 0.05
    judged = judge.judged(asked(fp32, judge.judging, noise=2.0), temperature)
    assert not judged.verdict.passed
    assert "predicted emotion changed" in " ".join(judged.verdict.reasons)


def test_faces_that_would_move_the_parents_own_temperature_are_not_held_against_a_candidate(
    labelled: WithLabels, fp32: Artifact
) -> None:
    """Every tenth label wrong: the parent itself would be refitted hotter by these faces."""
    wrong = labelled.choose.labels.copy()
    wrong[::10] = (wrong[::10] + 1) % len(fp32.card.labels)
    judge = replace(labelled, choose=replace(labelled.choose, labels=wrong))
    logits = asked(fp32, judge.choosing)
    assert fit_temperature(logits, wrong) > 1.2 * fp32.card.temperature
    assert judge.fit(logits) == pytest.approx(fp32.card.temperature, rel=1e-3)
    assert judge.fit(2 * logits) == pytest.approx(2 * fp32.card.temperature, rel=1e-3)


def test_a_wrong_temperature_breaks_only_calibration_and_only_labels_show_it(
    labelled: WithLabels, unlabelled: WithoutLabels, fp32: Artifact
) -> None:
    hot = 4 * fp32.card.temperature
    judged = labelled.judged(asked(fp32, labelled.judging), hot)
    assert [reason.split()[0] for reason in judged.verdict.reasons] == ["ECE", "AECE"]
    assert judged.drift is not None
    assert judged.drift.flips.rate == 0
    assert unlabelled.judged(asked(fp32, unlabelled.judging), hot).verdict.passed


def test_the_temperature_without_labels_follows_the_parents_confidence(
    unlabelled: WithoutLabels, fp32: Artifact
) -> None:
    logits = 3 * asked(fp32, unlabelled.choosing)
    temperature = unlabelled.fit(logits)
    assert temperature == pytest.approx(3 * fp32.card.temperature, rel=1e-3)
    np.testing.assert_allclose(softmax(logits, temperature), unlabelled.parent_choosing, atol=1e-3)


def test_too_few_faces_to_be_sure_of_agreement_are_told_with_how_many_it_takes(
    unlabelled: WithoutLabels, fp32: Artifact
) -> None:
    few = replace(
        unlabelled,
        faces=replace(unlabelled.faces, judge=unlabelled.judging[:60]),
        parent_judging=unlabelled.parent_judging[:60],
    )
    verdict = few.judged(asked(fp32, few.judging), fp32.card.temperature).verdict
    assert verdict.passed
    (doubt,) = verdict.unsure
    assert "60 faces are too few to be sure" in doubt


def test_faces_that_the_parent_does_not_know_are_refused(
    labelled: WithLabels, fp32: Artifact
) -> None:
    check_known_faces(fp32.card, labelled.parent_choosing, labelled.choose.used)
    said = labelled.parent_choosing
    others = replace(said, labels=(said.labels + 1) % 8)
    with pytest.raises(RankotomError, match="not faces of its kind"):
        check_known_faces(fp32.card, others, labelled.choose.used)


def test_a_handful_of_faces_neither_chooses_nor_judges(labelled: WithLabels) -> None:
    check_enough(*labelled.used)
    with pytest.raises(RankotomError, match="has 3 faces; to choose or to judge takes 20"):
        check_enough(labelled.used[0], replace(labelled.used[1], count=3))


def test_each_says_which_faces_it_used(labelled: WithLabels, unlabelled: WithoutLabels) -> None:
    assert [faces.name for faces in labelled.used] == ["portraits/choose", "portraits/report"]
    assert [faces.name for faces in unlabelled.used] == ["a/calibrate", "a/judge"]
