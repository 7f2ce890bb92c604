from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from calib.drift import Limits
from calib.temperature import softmax
from export.judges import WithLabels, WithoutLabels
from export.predict import faces_hash
from export.unlabelled import UnlabelledFaces
from rankotom_edge.artifact import Artifact, FacesUsed
from rankotom_edge.classifier import Classifier

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
    assert judge.allows(logits, temperature)
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
    assert not judge.allows(noisy, temperature)
    judged = judge.judged(asked(fp32, judge.judging, noise=2.0), temperature)
    assert not judged.verdict.passed
    assert "predicted emotion changed" in " ".join(judged.verdict.reasons)


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


def test_each_says_which_faces_it_used(labelled: WithLabels, unlabelled: WithoutLabels) -> None:
    assert [faces.name for faces in labelled.used] == ["portraits/choose", "portraits/report"]
    assert [faces.name for faces in unlabelled.used] == ["a/calibrate", "a/judge"]
