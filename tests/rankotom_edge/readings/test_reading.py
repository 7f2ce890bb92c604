"""A reading names the expression, or says why it is unsure."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.faces.tracker import TrackedFace
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.blend import KEEP_MARGIN
from rankotom_edge.readings.prediction_set import SetRule
from rankotom_edge.readings.reading import (
    POOR_MARGIN,
    SURE_MARGIN,
    Reading,
    bar_reliability,
    read_expression,
    unsure_reason,
    with_smoothing,
)

FACE = Face(
    (10.123, 20.456, 100.0, 110.0), (40.111, 50.0), (80.0, 51.0), (60.0, 70.0), (60.0, 95.0), 0.912
)
GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
POOR = Quality(score=0.05, size=0.9, sharpness=0.05, light=1.0, pose=1.0, whole=1.0)


def shares(**named: float) -> np.ndarray:
    """The named emotions; what is left to 1 is spread over the others."""
    rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
    return np.array([named.get(name, rest) for name in EMOTIONS])


def reading(
    probabilities: np.ndarray,
    raw: np.ndarray | None = None,
    needed: float = 0.5,
    quality: Quality = GOOD,
    before: Reading | None = None,
    time: float = 0.0,
    set_rule: SetRule | None = None,
) -> Reading:
    return read_expression(
        TrackedFace(7, FACE, detected=True),
        labels=EMOTIONS,
        raw=probabilities if raw is None else raw,
        probabilities=probabilities,
        quality=quality,
        needed=needed,
        before=before,
        time=time,
        set_rule=set_rule,
    )


def test_a_confidence_under_the_one_needed_is_unsure_and_says_both() -> None:
    unsure = reading(shares(sadness=0.43), needed=0.6)
    assert (unsure.verdict, unsure.reason) == ("unsure", "43 % sure, 60 % needed")
    assert unsure.top == "sadness"
    sure = reading(shares(sadness=0.6), needed=0.6)
    assert (sure.verdict, sure.reason) == ("sure", None)


def test_the_reason_says_what_the_bar_says_and_never_asks_for_as_much() -> None:
    assert unsure_reason(0.466, 0.5) == "47 % sure, 50 % needed"
    assert unsure_reason(0.5985, 0.599) == "60 % sure, at the limit"
    assert unsure_reason(0.996, 0.998) == "99 % sure, at the limit"


def test_a_poor_crop_is_the_reason_even_of_a_low_confidence() -> None:
    assert POOR.reason
    assert reading(shares(sadness=0.99), quality=POOR).reason == POOR.reason
    assert reading(shares(sadness=0.30), quality=POOR).reason == POOR.reason


def test_a_confident_reading_of_a_poor_crop_is_sure_unless_it_is_unreadable() -> None:
    """The model knows by itself when there is little to see."""
    blurred = replace(GOOD, score=0.4, sharpness=0.4)
    assert reading(shares(happiness=0.9), quality=blurred).verdict == "sure"
    assert reading(shares(happiness=0.4), quality=blurred).reason == "blurred"
    assert reading(shares(happiness=0.9), quality=POOR).reason == "blurred"
    turned = replace(GOOD, score=0.3, pose=0.4, sharpness=0.3)  # not in the damage table
    assert reading(shares(happiness=0.9), quality=turned).reason == "turned away"


def test_a_model_that_saw_no_damaged_faces_is_unsure_of_every_poor_crop() -> None:
    blurred = replace(GOOD, score=0.4, sharpness=0.4)
    strict = read_expression(
        TrackedFace(7, FACE, detected=True),
        labels=EMOTIONS,
        raw=shares(happiness=0.9),
        probabilities=shares(happiness=0.9),
        quality=blurred,
        needed=0.5,
        unreadable_below=0.5,
    )
    assert strict.reason == "blurred"


def test_doubt_alone_does_not_make_the_next_frame_unreadable() -> None:
    almost = replace(GOOD, score=0.4, sharpness=0.4, pose=0.55)
    doubtful = reading(shares(sadness=0.4), quality=almost)
    assert doubtful.reason == "blurred"
    assert reading(shares(sadness=0.95), quality=almost, before=doubtful).verdict == "sure"


def test_sureness_is_lost_at_once_and_won_back_with_a_little_more() -> None:
    sure = reading(shares(sadness=0.61), needed=0.6)
    unsure = reading(shares(sadness=0.59), needed=0.6, before=sure)
    assert (sure.verdict, unsure.verdict) == ("sure", "unsure")
    still = reading(shares(sadness=0.6 + SURE_MARGIN - 0.01), needed=0.6, before=unsure)
    assert (still.verdict, still.reason) == ("unsure", "64 % sure, at the limit")
    assert still.needed == 0.6
    again = reading(shares(sadness=0.6 + SURE_MARGIN), needed=0.6, before=still)
    assert again.verdict == "sure"
    assert reading(shares(sadness=0.61), needed=0.6, before=again).verdict == "sure"


def test_even_the_highest_budget_can_be_won_back() -> None:
    unsure = reading(shares(sadness=0.9), needed=0.98)
    assert reading(shares(sadness=0.995), needed=0.98, before=unsure).verdict == "sure"


def test_a_turned_face_stays_unsure_until_it_is_clearly_better() -> None:
    def turned(pose: float) -> Quality:
        return Quality.of(size=0.9, sharpness=1.0, light=1.0, pose=pose, whole=1.0)

    latest = reading(shares(sadness=0.9), quality=turned(0.49))
    assert latest.reason == "turned away"
    latest = reading(shares(sadness=0.9), quality=turned(0.51 + POOR_MARGIN / 2), before=latest)
    assert latest.reason == "turned away"
    latest = reading(shares(sadness=0.9), quality=turned(0.5 + POOR_MARGIN), before=latest)
    assert latest.verdict == "sure"
    assert reading(shares(sadness=0.9), quality=turned(0.51), before=latest).verdict == "sure"


def test_the_reason_of_a_poor_crop_does_not_change_with_every_measurement() -> None:
    def poor(sharpness: float, light: float) -> Quality:
        return Quality.of(size=0.9, sharpness=sharpness, light=light, pose=1.0, whole=1.0)

    latest = reading(shares(sadness=0.4), quality=poor(0.30, 0.31))
    latest = reading(shares(sadness=0.4), quality=poor(0.31, 0.30), before=latest)
    assert latest.reason == "blurred"
    latest = reading(shares(sadness=0.4), quality=poor(0.9, 0.30), before=latest)
    assert latest.reason == "too dark"


def test_a_blend_holds_while_its_parts_tremble() -> None:
    latest = reading(shares(happiness=0.65, surprise=0.2))
    assert latest.blend is not None
    latest = reading(shares(happiness=0.65, surprise=0.2 - KEEP_MARGIN + 0.01), before=latest)
    assert latest.blend is not None
    assert reading(shares(happiness=0.65, surprise=0.17)).blend is None
    latest = reading(shares(happiness=0.8, surprise=0.2 - KEEP_MARGIN - 0.01), before=latest)
    assert latest.blend is None


def test_the_parts_of_a_blend_change_places_when_one_is_clearly_ahead() -> None:
    latest = reading(shares(neutral=0.45, sadness=0.43))
    latest = reading(shares(neutral=0.43, sadness=0.45), before=latest)
    assert latest.blend is not None
    assert (latest.blend.first, latest.top) == ("neutral", "sadness")
    latest = reading(shares(neutral=0.40, sadness=0.48), before=latest)
    assert latest.blend is not None
    assert latest.blend.first == "sadness"


def test_a_blend_on_the_way_from_one_expression_to_another_is_not_named() -> None:
    latest = reading(shares(anger=0.9))
    on_the_way = shares(anger=0.45, happiness=0.45)
    for number in range(1, 5):
        latest = reading(on_the_way, before=latest, time=number / 30)
        assert latest.blend is None
    assert reading(shares(happiness=0.9), before=latest, time=5 / 30).blend is None


def test_two_that_people_hardly_ever_see_together_must_last_a_second() -> None:
    odd = shares(sadness=0.5, happiness=0.4)
    latest = reading(odd)
    assert latest.blend is None
    named = []
    for number in range(1, 60):
        latest = reading(odd, before=latest, time=number / 30)
        named.append(latest.blend is not None)
    assert named.index(True) == 29
    assert all(named[29:])
    assert with_smoothing(replace(latest, raw=odd), smoothed=False).blend is None


def test_a_blend_that_lasts_is_named_and_so_is_the_first_of_a_face() -> None:
    blended = shares(sadness=0.5, neutral=0.4)
    assert reading(blended).blend is not None
    latest, blends = reading(shares(sadness=0.95)), []
    for number in range(1, 31):
        latest = reading(blended, before=latest, time=number / 30)
        blends.append(latest.blend is not None)
    first = blends.index(True)
    assert 0.1 <= first / 30 <= 0.2
    assert all(blends[first:])


def test_a_face_that_trembles_across_every_limit_changes_its_words_rarely() -> None:
    """Ten seconds at 30 frames a second, confidence and parts a little above and below."""
    random = np.random.default_rng(0)
    before, changes, latest = None, 0, None
    for _ in range(300):
        happy, surprised = 0.62 + random.normal(0, 0.012), 0.2 + random.normal(0, 0.012)
        before, latest = (
            latest,
            reading(shares(happiness=happy, surprise=surprised), needed=0.62, before=latest),
        )
        if before is not None:
            shown = [(one.verdict, one.blend and one.blend.name) for one in (before, latest)]
            changes += shown[0] != shown[1]
    assert changes <= 4


def test_without_smoothing_a_face_is_read_from_its_own_frame_alone() -> None:
    smoothed, raw = shares(happiness=0.9), shares(happiness=0.45, surprise=0.4)
    latest = reading(smoothed, raw=raw, needed=0.6)
    assert (latest.top, latest.blend, latest.verdict) == ("happiness", None, "sure")
    assert with_smoothing(latest, smoothed=True) is latest
    alone = with_smoothing(latest, smoothed=False)
    assert alone.confidence == pytest.approx(0.45)
    assert alone.blend is not None
    assert alone.reason == "45 % sure, 60 % needed"


def test_a_face_as_json_has_the_fields_of_the_schema() -> None:
    saved = json.loads(json.dumps(reading(shares(happiness=0.52, surprise=0.31)).as_json()))
    assert saved["track"] == 7
    assert saved["box"] == [10.1, 20.5, 100.0, 110.0]
    assert list(saved["probabilities"]) == list(saved["raw"]) == list(EMOTIONS)
    assert saved["probabilities"]["happiness"] == saved["confidence"] == 0.52
    assert (saved["top"], saved["blend"]) == ("happiness", ["happiness", "surprise"])
    assert saved["blend_name"] == "happily surprised"
    assert (saved["verdict"], saved["reason"], saved["quality"]) == ("sure", None, 0.9)
    plain = reading(shares(happiness=0.3)).as_json()
    assert plain["blend"] is plain["blend_name"] is None
    assert plain["verdict"] == "unsure"


def test_a_face_read_back_from_json_says_the_same() -> None:
    latest = reading(shares(happiness=0.52, surprise=0.31), raw=shares(fear=0.4), needed=0.6)
    saved = latest.as_json()
    again = Reading.from_json(json.loads(json.dumps(saved)))
    assert again.as_json() == saved
    assert again.face.left_eye == pytest.approx(FACE.left_eye, abs=0.01)
    assert with_smoothing(again, smoothed=False).top == "fear"


def test_a_face_has_the_expressions_whose_bars_add_up_to_the_mass() -> None:
    rule = SetRule(mass=0.8, coverage=0.9)
    latest = reading(shares(happiness=0.52, surprise=0.31), set_rule=rule)
    saved = latest.as_json()
    assert saved["set"] == ["happiness", "surprise"]
    assert (saved["set_coverage"], saved["set_mass"]) == (0.9, 0.8)
    again = Reading.from_json(json.loads(json.dumps(saved)))
    assert again.as_json() == saved
    raw = replace(latest, raw=shares(fear=0.95))
    assert with_smoothing(raw, smoothed=False).expressions == ("fear",)
    blurred = replace(GOOD, score=0.4, sharpness=0.4)
    poor = reading(shares(happiness=0.52, surprise=0.31), set_rule=rule, quality=blurred)
    assert poor.as_json()["set"] is None


def test_without_prediction_sets_the_fields_are_null_and_older_files_have_none() -> None:
    saved = reading(shares(happiness=0.52)).as_json()
    assert saved["set"] is saved["set_coverage"] is saved["set_mass"] is None
    del saved["set"], saved["set_coverage"], saved["set_mass"]
    assert Reading.from_json(saved).expressions == ()


def test_a_poor_crop_read_back_from_json_has_the_same_marks_and_raw_verdict() -> None:
    blurred = replace(GOOD, score=0.4, sharpness=0.4)
    for quality in (blurred, POOR):
        latest = reading(shares(happiness=0.9), raw=shares(happiness=0.4), quality=quality)
        again = Reading.from_json(json.loads(json.dumps(latest.as_json())))
        assert (again.poor, again.unreadable) == (latest.poor, latest.unreadable)
        assert with_smoothing(again, smoothed=False).reason == "blurred"
    before_this_field = latest.as_json()
    del before_this_field["unreadable"]
    assert Reading.from_json(before_this_field).unreadable == "blurred"


def test_a_face_as_json_is_cheap() -> None:
    latest = reading(shares(happiness=0.52, surprise=0.31))
    started = time.thread_time()
    for _ in range(300):
        latest.as_json()
    assert (time.thread_time() - started) / 300 < 0.001


def test_a_bar_has_the_reliability_of_its_height_unless_the_crop_is_poor() -> None:
    reliability = Reliability(load_artifact("ferplus-fp32").card.evaluation)
    clear = reading(shares(happiness=0.83))
    top, other = EMOTIONS.index("happiness"), EMOTIONS.index("fear")
    assert bar_reliability(clear, top, reliability) == reliability.at(0.83)
    share = float(clear.probabilities[other])
    assert bar_reliability(clear, other, reliability) == reliability.at(share, highest=False)
    blurred = reading(shares(happiness=0.83), quality=POOR)
    assert bar_reliability(blurred, top, reliability) is None
