"""What finished models say of the faces that one trains on (Hinton et al. 2015).

An average of several models knows more than each of them, and one network can learn most of it: not
only which emotion a face shows, but how the others follow.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from calib.temperature import softmax
from rankotom_edge.artifact import Artifact
from rankotom_edge.classifier import Classifier

AT_ONCE = 256


def opinion(
    teachers: Sequence[Artifact],
    faces: NDArray[np.uint8],
    classes: tuple[str, ...],
    threads: int = 1,
) -> NDArray[np.float32]:
    """The mean of their probabilities, (n, k), before any temperature: a teacher was trained on
    shares of votes, and its temperature is for the one label that most of them make."""
    total = np.zeros((len(faces), len(classes)), dtype=np.float64)
    for teacher in teachers:
        check_teacher(teacher, faces.shape[1:], classes)
        with Classifier(teacher, threads) as classifier:
            for start in range(0, len(faces), AT_ONCE):
                part = slice(start, start + AT_ONCE)
                total[part] += softmax(classifier.classify(faces[part]).logits.astype(np.float64))
    return np.asarray(total / len(teachers), dtype=np.float32)


def check_teacher(teacher: Artifact, shape: tuple[int, ...], classes: tuple[str, ...]) -> None:
    card = teacher.card
    if card.labels != classes:
        raise RankotomError(
            f"{card.name} cannot teach this: it knows {', '.join(card.labels)}, and the data set "
            f"has {', '.join(classes)}."
        )
    takes = (card.crop.channels, card.crop.size, card.crop.size)
    if takes != shape:
        raise RankotomError(
            f"{card.name} cannot teach this: it takes faces of {takes} bytes (channels, height, "
            f"width), and the recipe trains on {shape}."
        )
