"""The page says what the window says, in the same words."""

from dataclasses import replace
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.web.page_json import PAGE_KEYS, hello_json, now_json
from rankotom_edge.views.web.relay import Update
from rankotom_edge.views.wording import headline


def page(showing: Any, reliability: Reliability, *readings: Any, **changes: Any) -> Any:
    status, controls = changes.pop("status", {}), changes.pop("controls", None)
    display = showing.display(showing.frame_readings(*readings), controls, **status)
    return now_json(Update(1, display, 10.0, 10.0), reliability, changes.pop("video", True), 10.0)


def test_a_face_has_the_windows_headline_bars_and_mark(
    showing: Any, reliability: Reliability
) -> None:
    reading = showing.reading(happiness=0.83)
    (face,) = page(showing, reliability, reading)["faces"]
    words = headline(reading, reliability)
    assert (face["title"], face["number"], face["detail"]) == (
        words.title,
        words.number,
        words.detail,
    )
    assert face["shares"] == pytest.approx(reading.probabilities, abs=1e-3)
    assert face["right"][face["top"]] == reliability.at(0.83)
    assert face["right"][0] == reliability.at(float(reading.probabilities[0]), highest=False)
    assert face["named"] == [face["top"]] == [EMOTIONS.index("happiness")]


def test_a_blend_names_both_and_unsure_names_none_but_says_why(
    showing: Any, reliability: Reliability
) -> None:
    blend = showing.reading(1, happiness=0.52, surprise=0.36)
    unsure = showing.reading(2, reason="the face is blurred", fear=0.5)
    first, second = page(showing, reliability, blend, unsure)["faces"]
    assert first["title"] == "happily surprised"
    assert first["named"] == [EMOTIONS.index("happiness"), EMOTIONS.index("surprise")]
    assert (second["title"], second["detail"]) == ("unsure", "the face is blurred")
    assert second["named"] == []


def test_the_bars_of_a_poor_crop_have_no_mark(showing: Any, reliability: Reliability) -> None:
    """The reliability tables were measured on clear faces."""
    poor = replace(showing.reading(1, reason="blurred", happiness=0.83), poor="blurred")
    unsure = showing.reading(2, reason="43 % sure, 60 % needed", happiness=0.43)
    first, second = page(showing, reliability, poor, unsure)["faces"]
    assert set(first["right"]) == {None}
    assert second["right"][second["top"]] is not None


def test_the_crop_is_sent_on_its_key_and_never_without_video(
    showing: Any, reliability: Reliability
) -> None:
    reading, wanted = showing.reading(happiness=0.8), Controls(crop=True)
    (face,) = page(showing, reliability, reading, controls=wanted)["faces"]
    assert face["crop"]["size"] == 48
    assert "crop" not in page(showing, reliability, reading)["faces"][0]
    assert (
        "crop" not in page(showing, reliability, reading, controls=wanted, video=False)["faces"][0]
    )


def test_a_still_says_so_and_a_lost_source_shows_no_faces(
    showing: Any, reliability: Reliability
) -> None:
    said = page(showing, reliability, status={"still": True})
    assert "not a live person" in said["status"]["still"]
    lost = State("lost", "lost: opening it again in 4 s")
    said = page(showing, reliability, showing.reading(fear=0.9), status={"state": lost})
    assert said["faces"] == []
    assert said["message"] == {
        "words": "camera 0, lost: opening it again in 4 s",
        "attention": True,
    }
    assert said["status"]["source"] is None  # the message has it


def test_the_last_photograph_stays_as_it_was_read(showing: Any, reliability: Reliability) -> None:
    ended = {"state": State("ended", "ended")}
    said = page(showing, reliability, showing.reading(fear=0.9), status=ended)
    assert said["message"] is None
    assert len(said["faces"]) == 1


def test_nobody_in_sight_is_said_quietly(showing: Any, reliability: Reliability) -> None:
    said = page(showing, reliability)
    assert said["message"] == {"words": "no face", "attention": False}


def test_the_introduction_leaves_out_keys_that_need_pictures(model: MeasuredModel) -> None:
    with_video = hello_json(model, video=True)
    without = hello_json(model, video=False)
    assert set(with_video["keys"]) - set(without["keys"]) == {"c", "v", "s"}
    assert len(with_video["colours"]) == len(EMOTIONS)


def test_a_viewers_page_offers_what_happens_in_the_browser_alone(model: Any) -> None:
    assert set(hello_json(model, video=True, viewer=True)["keys"]) == set(PAGE_KEYS)


def test_a_drift_ends_with_the_expiry_of_the_own_calibration(
    showing: Any, reliability: Reliability
) -> None:
    drifted = {"drift": showing.drifted}
    said = page(showing, reliability, status=drifted)["status"]["drift"]
    assert said["words"] == showing.drifted.words
    own = drifted | {"calibration": "calibrated on 150 own faces"}
    said = page(showing, reliability, status=own)["status"]["drift"]
    assert said["words"].endswith("; own calibration expired")
