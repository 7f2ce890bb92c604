import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.predictions import Predictions

ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
LABELS = np.array([0, 2])


def test_confidence_and_predicted_class_are_read_off_the_rows() -> None:
    predictions = Predictions(ROWS, LABELS)
    assert predictions.confidence.tolist() == [0.7, 0.6]
    assert predictions.predicted.tolist() == [0, 1]
    assert predictions.correct.tolist() == [True, False]
    assert len(predictions) == 2


def test_of_equal_probabilities_the_first_class_is_predicted() -> None:
    assert Predictions(np.array([[0.2, 0.4, 0.4]]), np.array([2])).predicted.tolist() == [1]


@pytest.mark.parametrize(
    ("columns", "classes"),
    [
        (8, EMOTIONS),
        (7, EMOTIONS[:7]),
        (3, ("class 0", "class 1", "class 2")),
        (1, ("class 0",)),
    ],
)
def test_classes_without_names_get_the_ones_the_data_sets_use(
    columns: int, classes: tuple[str, ...]
) -> None:
    rows = np.full((1, columns), 1 / columns)
    assert Predictions(rows, np.array([0])).classes == classes


def test_the_arrays_are_read_only_copies() -> None:
    rows = ROWS.copy()
    predictions = Predictions(rows, LABELS)
    rows[0] = 0
    assert predictions.probabilities[0, 0] == pytest.approx(0.7)
    with pytest.raises(ValueError, match="read-only"):
        predictions.probabilities[0, 0] = 0


def test_logits_decide_where_the_softmax_rounds_to_a_tie() -> None:
    logits = np.array([[1.0, 1.0 + 2**-52]])
    predictions = Predictions.from_logits(logits, [1], temperature=20.0)
    assert predictions.probabilities[0].tolist() == [0.5, 0.5]
    assert predictions.correct.tolist() == [True]


def test_logits_of_another_model_are_refused() -> None:
    with pytest.raises(RankotomError, match="disagree about the highest class, first in row 1"):
        Predictions(ROWS, LABELS, logits=np.array([[5.0, 0, 0], [5.0, 0, 0]]))
    with pytest.raises(RankotomError, match=r"logits have shape \(1, 3\)"):
        Predictions(ROWS, LABELS, logits=np.zeros((1, 3)))
