"""A synthetic model, calibrated by construction: labels are drawn from its probabilities."""

from collections.abc import Callable

import numpy as np
import pytest

from calib.predictions import Predictions
from calib.temperature import softmax


@pytest.fixture(scope="session")
def make_predictions() -> Callable[..., Predictions]:
    """A seed fixes the faces, labels and votes for every temperature and noise.

    A temperature other than 1 spoils the calibration, noise disturbs the logits.
    """

    def make(
        faces: int = 400, seed: int = 0, temperature: float = 1.0, noise: float = 0.0
    ) -> Predictions:
        generator = np.random.default_rng(seed)
        logits = generator.normal(scale=2.5, size=(faces, 8))
        truth = softmax(logits)
        chance = generator.random((faces, 1))
        labels = np.minimum((truth.cumsum(axis=1) < chance).sum(axis=1), 7)
        votes = generator.multinomial(10, truth)
        disturbed = logits + noise * generator.normal(size=logits.shape)
        return Predictions.from_logits(disturbed, labels, votes=votes, temperature=temperature)

    return make
