"""Invent predictions to try the commands on, until the embedded model's own take their place.

python docs/examples.py docs/examples

No face and no model is behind them: a face is a random distribution over the emotions, its label
is drawn from that distribution, so that the invented model is calibrated, and ten annotators vote
from a softer one. The candidate is the reference with more noise in its logits.
"""

import sys
from pathlib import Path

import numpy as np

from calib.arrays import FloatArray
from calib.emotions import EMOTIONS
from calib.files import replacing
from calib.temperature import softmax

FACES = 3573
ANNOTATORS = 10
# About the shares of FERPlus, in the order of EMOTIONS.
SHARES = (0.35, 0.26, 0.13, 0.12, 0.09, 0.01, 0.03, 0.01)
LOOKALIKES = (
    ("neutral", "sadness"),
    ("neutral", "happiness"),
    ("neutral", "anger"),
    ("neutral", "contempt"),
    ("surprise", "fear"),
    ("surprise", "happiness"),
    ("sadness", "anger"),
    ("sadness", "fear"),
    ("anger", "disgust"),
    ("anger", "contempt"),
)
NOISE = {"fp32": 0.02, "int8": 0.07}


def invented_logits(random: np.random.Generator) -> FloatArray:
    """Clear faces and unclear ones, each leaning towards what its emotion is taken for."""
    likeness = np.full((len(EMOTIONS), len(EMOTIONS)), 0.3)
    for first, second in LOOKALIKES:
        pair = EMOTIONS.index(first), EMOTIONS.index(second)
        likeness[pair] = likeness[pair[::-1]] = 2.2
    emotion = random.choice(len(EMOTIONS), FACES, p=SHARES)
    logits: FloatArray = random.normal(size=(FACES, len(EMOTIONS))) + likeness[emotion]
    logits[np.arange(FACES), emotion] += 2.4 + random.gamma(2.4, 1.5, FACES)
    return logits


def main(folder: Path) -> None:
    random = np.random.default_rng(0)
    logits = invented_logits(random)
    labels = (random.random((FACES, 1)) > softmax(logits).cumsum(axis=1)).sum(axis=1)
    votes = random.multinomial(ANNOTATORS, softmax(logits, temperature=1.8))
    folder.mkdir(parents=True, exist_ok=True)
    for name, noise in NOISE.items():
        blurred = logits + random.normal(scale=noise, size=logits.shape)
        with replacing(folder / f"{name}.npz") as temporary:
            np.savez_compressed(
                temporary,
                logits=blurred.astype(np.float16),
                labels=labels.astype(np.uint8),
                votes=votes.astype(np.uint8),
                classes=np.array(EMOTIONS),
            )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
