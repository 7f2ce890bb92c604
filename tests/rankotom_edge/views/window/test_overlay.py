"""The picture that a person sees first: looked at by its pixels and by its words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.reliability import reliability_at
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading, find_blend
from rankotom_edge.sources import State
from rankotom_edge.views.controls import KEYS, Controls
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.palette import EMOTION_HEX, RECORDING_HEX, WARNING_HEX, bgr
from rankotom_edge.views.presenter import STILL
from rankotom_edge.views.drawing import canvas
from rankotom_edge.views.window.layout import divide
from rankotom_edge.views.window.overlay import AWAY, Overlay, size_within
from rankotom_edge.views.window.panel_placement import Rect

GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
PLAYING = Status("camera 0", State("playing", ""), 29.7, 12.3, 0, "ferplus-fp32", "fp32")
MODEL = load_artifact("ferplus-fp32").card


def shares(**named: float) -> np.ndarray:
    """The named emotions; what is left to 1 is spread over the others."""
    rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
    return np.array([named.get(name, rest) for name in EMOTIONS])


def face_in(x: float, y: float, side: float) -> Face:
    return Face(
        (x, y, side, side),
        left_eye=(x + 0.3 * side, y + 0.3 * side),
        right_eye=(x + 0.7 * side, y + 0.3 * side),
        nose=(x + 0.5 * side, y + 0.5 * side),
        mouth=(x + 0.5 * side, y + 0.75 * side),
        score=0.9,
    )


def reading(
    probabilities: np.ndarray, face: Face | None = None, track: int = 1, reason: str | None = None
) -> Reading:
    return Reading(
        track=track,
        face=face or face_in(100, 120, 110),
        quality=GOOD,
        labels=EMOTIONS,
        probabilities=probabilities,
        raw=probabilities,
        blend=find_blend(probabilities, EMOTIONS),
        verdict="sure" if reason is None else "unsure",
        reason=reason,
    )


HAPPY = reading(shares(happiness=0.83))


def moment(*readings: Reading, size: tuple[int, int] = (640, 480), index: int = 0) -> FrameReadings:
    """On noise, so that whatever is drawn over it shows."""
    width, height = size
    noise = np.random.default_rng(0).integers(60, 120, (height, width, 3), dtype=np.uint8)
    return FrameReadings(Frame(noise, index, index / 30, 0.0), readings, Latency(2.0, 1.0, 12.0))


def playing(latest: FrameReadings | None, controls: Controls | None = None) -> Display:
    return Display(latest, PLAYING, controls or Controls())


def drawn(
    shown: FrameReadings | None,
    status: Status = PLAYING,
    controls: Controls | None = None,
    room: tuple[int, int] | None = None,
) -> Image:
    overlay = Overlay(MODEL)
    return overlay.draw(Display(shown, status, controls or Controls()), room)


def pixels_of(image: Image, colour: str) -> int:
    return int(np.all(image == bgr(colour), axis=2).sum())


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What is written on a picture, all of it, in one line."""

    def written(*args: object, **options: object) -> str:
        seen: list[str] = []
        stamp = canvas._text
        with monkeypatch.context() as patch:
            patch.setattr(
                canvas, "_text", lambda text, *rest: seen.append(text) or stamp(text, *rest)
            )
            drawn(*args, **options)
        return " | ".join(seen)

    return written


def test_the_frame_is_not_touched() -> None:
    shown = moment(HAPPY)
    before = shown.frame.image.copy()
    drawn(shown, controls=Controls(evidence=True, crop=True, reliability=True, help=True))
    assert np.array_equal(shown.frame.image, before)


@pytest.mark.parametrize("size", [(640, 480), (1920, 1080)], ids=["480", "1080"])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_nothing_is_drawn_over_a_face(count: int, size: tuple[int, int]) -> None:
    width, height = size
    side = height * (0.15 if count == 8 else 0.22)
    faces = [
        face_in(width * (0.06 + 0.24 * (n % 4)), height * (0.12 + 0.5 * (n // 4)), side)
        for n in range(count)
    ]
    shown = moment(
        *(reading(shares(happiness=0.6), face, n) for n, face in enumerate(faces, 1)), size=size
    )
    image = drawn(shown)
    for face in faces:
        x, y, wide, _ = (round(value) for value in face.box)
        start, end = round(0.35 * wide), round(0.88 * wide)  # a number stands in the box's corner
        inner = (slice(y + start, y + end), slice(x + start, x + end))
        assert np.array_equal(image[inner], shown.frame.image[inner])


@pytest.mark.parametrize("side", [6, 40, 300, 470])
def test_a_face_of_any_size_gets_its_bars(side: float, words: Callable[..., str]) -> None:
    shown = moment(reading(shares(happiness=0.83), face_in(60, 4, side)))
    assert "contempt" in words(shown)


def test_a_face_that_fills_the_picture_has_its_bars_beside_it() -> None:
    image = drawn(moment(reading(shares(happiness=0.83), face_in(85, 4, 470))))
    assert image.shape[1] > 640
    assert pixels_of(image[:, 640:], EMOTION_HEX["happiness"]) > 100


def test_the_bar_is_as_long_as_the_share() -> None:
    lengths = []
    for share in (0.3, 0.6, 0.9):
        image = drawn(moment(reading(shares(sadness=share))))
        panel = image[60:330, 225:450]
        lengths.append(int(np.all(panel == bgr(EMOTION_HEX["sadness"]), axis=2).sum(axis=1).max()))
    # The mark hides up to six pixels of a bar.
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=7)
    assert lengths[2] == pytest.approx(3 * lengths[0], abs=9)


def test_the_emotions_stand_in_the_order_of_the_model(words: Callable[..., str]) -> None:
    said = words(moment(reading(shares(fear=0.7, neutral=0.1))))
    bars = said.split("times in 100")[1]
    places = [bars.index(name) for name in EMOTIONS]
    assert places == sorted(places)


def test_the_headline_names_the_expression_and_what_its_confidence_is_worth(
    words: Callable[..., str],
) -> None:
    said = words(moment(HAPPY))
    assert "happiness" in said
    assert "83 %" in said
    right = reliability_at(MODEL.evaluation.reliability, 0.83)
    assert right is not None
    assert f"right {100 * right:.0f} times in 100" in said


def test_a_blend_is_named_with_its_parts(words: Callable[..., str]) -> None:
    said = words(moment(reading(shares(happiness=0.52, surprise=0.31))))
    assert "happily surprised" in said
    assert "happiness 52 + surprise 31" in said


def test_an_unsure_reading_says_why_and_fades_its_bars(words: Callable[..., str]) -> None:
    unsure = moment(reading(shares(happiness=0.83), reason="41 % sure, 62 % needed"))
    said = words(unsure)
    assert "unsure" in said
    assert "41 % sure, 62 % needed" in said
    assert pixels_of(drawn(unsure), EMOTION_HEX["happiness"]) == 0


def test_each_bar_has_a_mark_of_its_own_kind_of_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankotom_edge.views.window import panels

    marks: list[tuple[float, bool]] = []
    monkeypatch.setattr(
        panels, "_mark", lambda image, track, share, highest, _: marks.append((share, highest))
    )
    drawn(moment(reading(shares(happiness=0.52, surprise=0.31))))
    assert len(marks) == len(EMOTIONS)
    assert marks[EMOTIONS.index("happiness")] == (
        pytest.approx(reliability_at(MODEL.evaluation.reliability, 0.52), abs=1e-3),
        True,
    )
    assert marks[EMOTIONS.index("surprise")] == (
        pytest.approx(reliability_at(MODEL.evaluation.other_bars, 0.31), abs=1e-3),
        False,
    )


def test_raw_bars_are_those_of_the_frame_alone(words: Callable[..., str]) -> None:
    both = replace(HAPPY, raw=shares(happiness=0.55))
    assert "83 %" in words(moment(both))
    raw = words(moment(both), controls=Controls(smoothed=False))
    assert "55 %" in raw
    assert "raw" in raw


def test_the_line_says_pace_model_and_source(words: Callable[..., str]) -> None:
    said = words(moment(HAPPY))
    for part in ("30 fps", "12 ms", "ferplus-fp32", "camera 0"):
        assert part in said
    assert "dropped" not in said
    assert "5 dropped" in words(moment(HAPPY), replace(PLAYING, dropped=5))
    assert "edge fp16" in words(moment(HAPPY), replace(PLAYING, model="edge", precision="fp16"))


def test_recording_is_a_red_dot_and_a_word(words: Callable[..., str]) -> None:
    recording = replace(PLAYING, recording="/tmp/session")
    assert "REC" in words(moment(HAPPY), recording)
    assert pixels_of(drawn(moment(HAPPY), recording), RECORDING_HEX) > 30
    assert pixels_of(drawn(moment(HAPPY)), RECORDING_HEX) == 0


def test_the_demo_always_says_that_it_is_a_still(words: Callable[..., str]) -> None:
    still = replace(PLAYING, still=True)
    for shown in (None, moment(), moment(HAPPY)):
        assert STILL in words(shown, still)
    assert STILL in words(moment(HAPPY), replace(still, notice="saved snapshot.png"))


def test_a_lost_source_is_dimmed_said_plainly_and_shows_no_stale_reading(
    words: Callable[..., str],
) -> None:
    lost = replace(PLAYING, state=State("lost", "lost: opening it again in 4 s"), fps=None)
    said = words(moment(HAPPY), lost)
    assert said.count("camera 0, lost: opening it again in 4 s") == 2  # in the middle, in the line
    assert "happiness" not in said
    image = drawn(moment(HAPPY), lost)
    assert pixels_of(image, WARNING_HEX) > 100
    assert image[:100, :640].mean() < 0.6 * moment().frame.image[:100].mean()


def test_a_notice_takes_the_line(words: Callable[..., str]) -> None:
    said = words(moment(HAPPY), replace(PLAYING, notice="saved snapshot.png"))
    assert "saved snapshot.png" in said
    assert "fps" not in said


def test_pause_nobody_and_nothing_yet_are_said(words: Callable[..., str]) -> None:
    assert "paused" in words(moment(HAPPY), controls=Controls(paused=True))
    assert "no face" in words(moment())
    assert "no face" not in words(moment(HAPPY))
    assert "waiting for camera 0" in words(None)


@pytest.mark.parametrize(
    ("lines", "interpolation"), [(1080, cv2.INTER_LINEAR), (600, cv2.INTER_AREA)]
)
def test_only_a_much_smaller_picture_is_averaged(lines: int, interpolation: int) -> None:
    """Averaging is slow at 0.95, as beside the line of a window of the frame's own size."""
    shown = moment(size=(1920, 1080))
    image = drawn(shown, room=(round(lines * 16 / 9), lines))
    sheet = divide((1920, 1080), image.shape[1::-1], column=False, foot_lines=1)
    x, y, width, height = sheet.picture.pixels
    plain = cv2.resize(shown.frame.image, (width, height), interpolation=interpolation)
    upper = slice(0, height // 2)  # "no face" is written below
    assert np.array_equal(image[y : y + height, x : x + width][upper], plain[upper])


def test_the_help_leaves_out_the_keys_that_can_do_nothing(words: Callable[..., str]) -> None:
    said = words(moment(HAPPY), controls=Controls(help=True, absent=("r", "c")))
    assert KEYS["v"] in said
    assert KEYS["r"] not in said
    assert KEYS["c"] not in said


def test_the_help_tells_every_key(words: Callable[..., str]) -> None:
    said = words(moment(HAPPY), controls=Controls(help=True))
    for key, meaning in KEYS.items():
        assert f"{key} | {meaning}" in said


def test_the_reliability_diagram_opens_beside_the_picture(words: Callable[..., str]) -> None:
    asked = Controls(reliability=True)
    image = drawn(moment(HAPPY), controls=asked)
    assert image.shape[1] > 640
    said = words(moment(HAPPY), controls=asked)
    ece = MODEL.evaluation.metrics["ece"].value
    assert f"ECE {100 * ece:.1f} %, 1,789 faces" in said
    assert "not sure enough" in said


def test_a_model_without_a_table_is_drawn_all_the_same() -> None:
    overlay = Overlay({}, FERPLUS_FRAMING)
    image = overlay.draw(Display(moment(HAPPY), PLAYING, Controls(reliability=True)))
    assert pixels_of(image, EMOTION_HEX["happiness"]) > 100


def test_the_crop_is_shown_pixel_by_pixel() -> None:
    crop = np.random.default_rng(1).integers(0, 256, (1, 48, 48), dtype=np.uint8)
    image = drawn(moment(replace(HAPPY, crop=crop)), controls=Controls(crop=True))
    shown = image[:200, 640:]
    inner = cv2.resize(crop[0], (90, 90), interpolation=cv2.INTER_NEAREST)[10:-10, 10:-10]
    found = cv2.matchTemplate(cv2.cvtColor(shown, cv2.COLOR_BGR2GRAY), inner, cv2.TM_CCOEFF_NORMED)
    assert found.max() > 0.99


def test_the_crops_of_a_crowd_stay_in_their_column() -> None:
    crop = np.full((1, 48, 48), 255, np.uint8)
    crowd = [
        replace(reading(shares(anger=0.9), face_in(40 * n, 20 * n, 60), n), crop=crop)
        for n in range(1, 13)
    ]
    image = drawn(moment(*crowd), controls=Controls(crop=True, reliability=True))
    white = np.all(image == 255, axis=2)
    assert white[:480, 640:].sum() > 80 * 80
    assert white[480:].sum() == 0


def test_the_column_of_a_crowd_closes_some_seconds_after_it_has_gone() -> None:
    overlay = Overlay(MODEL)
    crowd = [
        reading(shares(anger=0.9), face_in(20 + 105 * (n % 6), 20 + 150 * (n // 6), 95), n)
        for n in range(18)
    ]

    def width_at(time: float, *people: Reading) -> int:
        image = overlay.draw(playing(moment(*people, index=round(30 * time))))
        return int(image.shape[1])

    assert width_at(0.0, HAPPY) == 640
    wide = width_at(1.0, *crowd)
    assert wide > 640
    assert width_at(2.0, HAPPY) == wide  # not at once: they may come back
    assert width_at(5.0, HAPPY) == wide
    width_at(6.5, HAPPY)
    assert width_at(7.0, HAPPY) == 640
    assert width_at(8.0, *crowd) == wide


def test_a_key_that_is_pressed_again_gives_the_picture_its_size_back() -> None:
    overlay = Overlay(MODEL)
    near = reading(shares(happiness=0.83), face_in(230, 140, 180))
    widths = [
        overlay.draw(playing(moment(near, index=index), Controls(reliability=asked))).shape[1]
        for index, asked in enumerate((False, True, True, False))
    ]
    assert widths[0] == widths[3] == 640
    assert widths[1] == widths[2] > 640


def test_who_leans_in_and_back_has_a_whole_picture_again() -> None:
    overlay = Overlay(MODEL)

    def width_at(time: float, side: float) -> int:
        face = face_in(320 - side / 2, 260 - side / 2, side)
        shown = moment(reading(shares(happiness=0.83), face), index=round(30 * time))
        return int(overlay.draw(playing(shown)).shape[1])

    assert width_at(0.0, 120) == 640
    assert width_at(1.0, 380) > 640
    assert width_at(2.0, 120) > 640  # not at once
    assert width_at(6.5, 120) == 640


@pytest.mark.parametrize(
    "faces",
    [
        [face_in(70 + 190 * n, 170, 100) for n in range(3)],
        [face_in(20, 240, 230), face_in(390, 240, 230)],  # the only room in the picture is above
    ],
    ids=["three", "two below"],
)
def test_nothing_is_drawn_over_a_forehead(faces: list[Face]) -> None:
    overlay = Overlay(MODEL)
    shown = moment(*(reading(shares(happiness=0.6), face, n) for n, face in enumerate(faces, 1)))
    room = (640, 506)
    overlay.draw(playing(shown), room)
    layout = overlay._layout
    sheet = divide((640, 480), room, column=layout.column, foot_lines=1)
    assert len(layout.places) == len(faces)
    for place in layout.places.values():
        for face in faces:
            assert not place.rect.overlaps(sheet.head_rect(face))


def test_a_headline_alone_tells_its_number_or_its_reason() -> None:
    from rankotom_edge.model.reliability import Reliability
    from rankotom_edge.views.window import panels

    measures = panels.Measures(1.0)
    width, height = measures.panel_sizes(len(EMOTIONS))[panels.HEADLINE]
    seen: list[str] = []
    stamp = canvas._text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "_text", lambda text, *rest: seen.append(text) or stamp(text, *rest))
        for told in (
            reading(shares(contempt=0.999)),
            reading(shares(neutral=0.52, happiness=0.36)),
            reading(shares(anger=0.42), reason="42 % sure, 51 % needed"),
        ):
            image = np.zeros((100, 400, 3), np.uint8)
            panels.draw_panel(
                image,
                Rect(20, 20, width, height),
                panels.HEADLINE,
                told,
                12,
                Reliability(MODEL.evaluation),
                measures,
            )
    assert {">99 %", "52 + 36", "42 % sure, 51 % needed", "neutral + happiness"} <= set(seen)
    assert not any("…" in words for words in seen)


def test_the_evidence_lies_on_the_part_of_the_face_that_it_is_of() -> None:
    """One cell of the map's nine speaks; the crop contract says where on the face that is."""
    evidence = np.zeros((len(EMOTIONS), 3, 3), np.float32)
    evidence[EMOTIONS.index("happiness"), 2, 1] = 5  # below, in the middle: the mouth
    evidence[EMOTIONS.index("anger"), 0, 0] = 50  # of another emotion: not shown
    with_evidence = moment(replace(HAPPY, evidence=evidence))
    plain, lit = drawn(with_evidence), drawn(with_evidence, controls=Controls(evidence=True))
    change = np.abs(plain.astype(int) - lit).sum(axis=2)
    rows, columns = np.nonzero(change > 0.8 * change.max())
    assert (columns.mean(), rows.mean()) == pytest.approx(HAPPY.face.mouth, abs=15)


def test_a_turned_face_turns_its_evidence() -> None:
    evidence = np.zeros((len(EMOTIONS), 3, 3), np.float32)
    evidence[EMOTIONS.index("happiness"), 2, 1] = 5
    lying = replace(HAPPY.face, left_eye=(150, 230), right_eye=(150, 180), mouth=(205, 205))
    with_evidence = moment(replace(HAPPY, face=lying, evidence=evidence))
    plain, lit = drawn(with_evidence), drawn(with_evidence, controls=Controls(evidence=True))
    change = np.abs(plain.astype(int) - lit).sum(axis=2)
    rows, columns = np.nonzero(change > 0.8 * change.max())
    assert (columns.mean(), rows.mean()) == pytest.approx((205, 205), abs=15)


@pytest.mark.parametrize("room", [(640, 506), (1280, 720), (800, 900), (1919, 1079)])
def test_the_picture_fills_the_window_exactly(room: tuple[int, int]) -> None:
    image = drawn(moment(HAPPY), room=room)
    assert image.shape == (room[1], room[0], 3)


def test_a_window_too_small_for_letters_gets_a_larger_picture_of_its_shape() -> None:
    image = drawn(moment(HAPPY), room=(320, 240))
    assert image.shape[1] / image.shape[0] == pytest.approx(320 / 240, abs=0.01)
    assert image.shape[0] >= 480


def test_a_small_frame_is_enlarged_until_letters_can_be_read() -> None:
    small = moment(reading(shares(happiness=0.83), face_in(40, 40, 60)), size=(320, 180))
    image = drawn(small)
    assert image.shape[1] >= 640


def test_panels_stay_where_they_are_while_a_face_trembles() -> None:
    overlay = Overlay(MODEL)
    places = set()
    for index, tremble in enumerate((0, 2, -1, 1, -2, 0)):
        face = face_in(100 + tremble, 120 - tremble, 110)
        shown = moment(reading(shares(happiness=0.83), face), index=index)
        overlay.draw(playing(shown))
        places.add(overlay._layout.places[1].rect)
    assert len(places) == 1


@pytest.mark.parametrize(
    ("face", "corner"),
    [
        (face_in(-60, -60, 110), (slice(0, 60), slice(0, 60))),
        (face_in(600, 450, 110), (slice(440, 480), slice(590, 640))),
    ],
)
def test_a_face_at_the_border_has_its_frame(face: Face, corner: tuple[slice, slice]) -> None:
    nobody = drawn(replace(moment(HAPPY), readings=()))
    somebody = drawn(
        moment(reading(shares(happiness=0.83), face)), controls=Controls(evidence=True)
    )
    assert nobody.shape == somebody.shape
    assert (nobody[corner] != somebody[corner]).any()


def test_a_face_beyond_the_border_is_no_error() -> None:
    shown = moment(reading(shares(happiness=0.83), face_in(900, 900, 50)))
    drawn(shown, controls=Controls(evidence=True))


def test_a_drift_is_written_in_the_quiet_line_and_nothing_else_moves(
    words: Callable[..., str],
) -> None:
    said = "confidence has drifted: light is low since 10:42"
    since = datetime(2026, 11, 16, 10, 42)
    drifted = replace(PLAYING, drift=DriftStatus("drifted", 0.6, 80, said, "light is low", since))
    steady = replace(PLAYING, drift=DriftStatus("steady", 0.03, 90, "as measured", None, None))
    shown = moment(HAPPY)
    assert said in words(shown, drifted)
    assert "as measured" not in words(shown, steady)
    assert said not in words(shown, replace(drifted, state=State("lost", "lost: try again")))
    plain, warned = drawn(shown, steady), drawn(shown, drifted)
    assert pixels_of(warned, WARNING_HEX) > pixels_of(plain, WARNING_HEX)
    changed = np.nonzero((plain != warned).any(axis=2))[0]
    assert changed.min() >= 480  # below the frame, whose place is kept


def test_drawing_is_quick_enough_for_a_camera() -> None:
    """About 2 ms and 5 ms of one busy core when it was written; ten times that is a fault."""
    for size, most_ms in (((640, 480), 30), ((1920, 1080), 80)):
        overlay, shown = Overlay(MODEL), moment(HAPPY, size=size)
        overlay.draw(playing(shown))
        started = time.thread_time()
        for _ in range(5):
            overlay.draw(playing(shown))
        assert (time.thread_time() - started) / 5 * 1000 < most_ms


@pytest.mark.parametrize("shape", [(1, 640, 3), (3000, 1, 3), (1, 1, 3)])
def test_a_stripe_of_a_picture_is_drawn_within_reason(shape: tuple[int, int, int]) -> None:
    card = load_artifact("ferplus-fp32").card
    moment = FrameReadings(
        Frame(np.zeros(shape, np.uint8), 0, 0.0, 0.0), (), Latency(1.0, 0.0, 2.0)
    )
    status = Status("stripe", State("playing", ""), 30.0, 9.0, 0, "ferplus-fp32", "fp32")
    for room in (None, (640, 480)):
        picture = Overlay(card).draw(Display(moment, status, Controls()), room)
        assert picture.size < 60e6


@pytest.mark.parametrize("shape", [(480, 640), (1920, 1080)])
def test_in_the_window_as_it_opens_a_high_picture_keeps_its_size_when_keys_ask_for_more(
    shape: tuple[int, int],
) -> None:
    shown = replace(moment(HAPPY), frame=Frame(np.full((*shape, 3), 90, np.uint8), 0, 0.0, 0.0))
    room = size_within((1280, 720), playing(shown))
    lit = []
    for controls in (Controls(), Controls(reliability=True, crop=True)):
        image = Overlay(MODEL).draw(playing(shown, controls), room)
        lit.append(np.all(image == 90, axis=2).any(axis=0).sum())
    assert lit[0] == lit[1]


def test_panels_beside_an_open_column_stay_where_they_are_while_faces_tremble() -> None:
    """In the window as it opens the column is always open; one of the three panels is in it."""
    overlay, places = Overlay(MODEL), set()
    for index, tremble in enumerate((0, 2, -1, 1, -2, 0, 2, -2)):
        corners = ((514 + tremble, 236), (248 - tremble, 132), (296, 365 + tremble))
        shown = moment(
            *(
                reading(shares(happiness=0.83), face_in(x, y, 100), track=number)
                for number, (x, y) in enumerate(corners, 1)
            ),
            index=index,
        )
        overlay.draw(playing(shown), size_within((1280, 720), playing(shown)))
        places.add(tuple(overlay._layout.places.items()))
    assert len(places) == 1
    assert overlay._layout.in_column


def test_a_panel_returns_from_an_open_column_when_its_face_has_had_room_for_long() -> None:
    overlay = Overlay(MODEL)
    sides = []
    for seconds, width in ((0, 320), (1, 110), (AWAY - 1, 110), (AWAY + 1, 110)):
        face = face_in(320 - width / 2, 120, width)
        shown = moment(reading(shares(happiness=0.83), face), index=30 * round(seconds))
        overlay.draw(playing(shown), size_within((1280, 720), playing(shown)))
        sides.append(overlay._layout.places[1].side)
    assert sides[:3] == ["column"] * 3
    assert sides[3] in ("right", "left")
