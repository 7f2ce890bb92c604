"""Real models and detectors, opened as the commands open them."""

import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.live.build import Reach, open_classifier, open_reader
from rankotom_edge.model import embedded
from rankotom_edge.sources.demo import load_portrait

OTHER = embedded.INT8_S8S8


@pytest.mark.parametrize("reach", ["auto", "short", "full"])
def test_with_each_reach_the_demos_portrait_is_read(reach: Reach) -> None:
    with (
        open_classifier(embedded.FP32, "cpu") as (classifier, notes),
        open_reader(classifier, reach, stills=True) as reader,
    ):
        (reading,) = reader.read(Frame(load_portrait(), 0, 0.0, 0.0)).readings
    assert (reader.model, reading.top) == (embedded.FP32, "happiness")
    assert notes == []


def test_a_model_made_for_another_machine_comes_with_a_note() -> None:
    with open_classifier(OTHER, "cpu") as (classifier, notes):
        assert classifier.provider == "cpu"
    assert len(notes) == 1
    assert f"{OTHER} was made for" in notes[0]


def test_an_unknown_model_is_an_error() -> None:
    with (
        pytest.raises(RankotomError, match="There is no model 'nothing'"),
        open_classifier("nothing"),
    ):
        pass
