"""The page in a real Chromium, fed through the real view and server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.sources import State
from rankotom_edge.views.palette import EMOTION_HEX


class Page:
    def __init__(self, browser: Any, stage: Any) -> None:
        self.browser, self.stage = browser, stage

    def open(self, path: str = "") -> Page:
        self.browser.get(self.stage.url + path)
        return self

    def ask(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    def text(self, selector: str) -> str:
        return str(self.ask(f"document.querySelector({selector!r})?.innerText ?? ''"))

    def width(self, label: str) -> float:
        fill = f'.bars [data-label="{label}"] .fill'
        return float(
            self.ask(f"document.querySelector({fill!r})?.getBoundingClientRect().width || 0")
        )

    def comes(self, found: Callable[[], object], *readings: Any) -> None:
        self.stage.show_until(found, *readings)

    def press(self, key: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(key).perform()


@pytest.fixture
def page(browser: Any, stage: Any) -> Iterator[Page]:
    yield Page(browser, stage).open()
    browser.get("about:blank")  # and so takes its streams away


def test_bars_move_with_the_readings_and_carry_the_mark(page: Page, showing: Any) -> None:
    page.comes(lambda: page.text(".face h3") == "happiness", showing.reading(happiness=0.9))
    page.comes(
        lambda: page.width("happiness") > 8 * page.width("fear"), showing.reading(happiness=0.9)
    )
    wide = page.width("happiness")
    page.comes(
        lambda: page.text(".face h3") == "fear" and page.width("happiness") < wide / 5,
        showing.reading(fear=0.9),
    )
    assert page.text('[data-label="fear"] .percent') == "90 %"
    assert re.fullmatch(r"right \d+ times in 100", page.text(".detail"))
    marks = "[...document.querySelectorAll('.mark')].filter((mark) => !mark.hidden)"
    labels = "map((mark) => mark.closest('li').dataset.label)"
    assert page.ask(f"{marks}.{labels}") == list(EMOTIONS)
    assert page.ask(f"{marks}.filter((mark) => !mark.matches('.quiet')).{labels}") == ["fear"]


def test_a_blend_is_named_and_unsure_gives_its_reason(page: Page, showing: Any) -> None:
    blend = showing.reading(happiness=0.52, surprise=0.36)
    page.comes(lambda: page.text(".face h3") == "happily surprised", blend)
    assert page.text(".face .number") == "52 + 36"
    assert page.text(".face .detail") == "happiness and surprise"
    unsure = showing.reading(reason="the face is blurred", neutral=0.4)
    page.comes(lambda: page.text(".face h3") == "unsure", unsure)
    assert page.text(".face .detail") == "the face is blurred"


def test_the_picture_is_live_and_faces_come_and_go(page: Page, showing: Any) -> None:
    one, other = showing.reading(1, happiness=0.9), showing.reading(2, anger=0.9)
    page.comes(lambda: page.ask("document.querySelector('#picture').naturalWidth") == 640, one)
    cards = "[...document.querySelectorAll('.face h3')].map((title) => title.innerText)"
    page.comes(lambda: page.ask(cards) == ["happiness", "anger"], one, other)
    assert page.text(".face .track") == "1"
    page.comes(lambda: page.ask(cards) == ["anger"], other)
    page.comes(lambda: page.text("#empty") == "no face")


def test_each_face_has_a_lane_in_the_colours_of_its_headlines(page: Page, showing: Any) -> None:
    """However many seconds pass between two looks."""
    runs = "[...document.querySelectorAll('.lane .band')].map((band) => band.ariaLabel).join('; ')"

    def says(pattern: str) -> Callable[[], object]:
        return lambda: re.search(pattern, page.ask(runs))

    happy, sad = showing.reading(1, happiness=0.9), showing.reading(2, sadness=0.9)
    page.comes(says(r"Face 1: happiness [1-9]\d* s"), happy)
    page.comes(says(r"Face 2: sadness [1-9]\d* s"), happy, sad)
    unsure = showing.reading(2, reason="too dark", fear=0.4)
    page.comes(says(r"Face 2: sadness [1-9]\d* s, unsure [1-9]\d* s"), happy, unsure)
    assert (
        page.ask("document.querySelector('.lane .run').style.getPropertyValue('--colour')")
        == (EMOTION_HEX["happiness"])
    )
    assert page.ask("document.querySelectorAll('.lane .run.unsure').length") == 1
    assert page.text("#lane-legend").split() == ["happiness", "sadness", "unsure"]


def test_the_cards_of_a_crowd_are_folded_until_they_are_opened(page: Page, showing: Any) -> None:
    readings = [showing.reading(track, happiness=0.9) for track in range(1, 6)]
    folded = "document.querySelectorAll('.face.folded').length"
    page.comes(lambda: page.ask(folded) == 5, *readings)
    seen = "document.querySelector('.face .percent').checkVisibility()"
    assert not page.ask(seen)
    page.ask("document.querySelector('.fold').click()")
    assert page.ask(seen)
    page.comes(lambda: page.stage.frames > 60, *readings)
    assert page.ask(folded) == 4
    page.comes(lambda: page.ask(folded) == 0, *readings[:2])


def test_beside_others_a_bar_that_is_zero_is_folded_away_and_comes_back(
    page: Page, showing: Any
) -> None:
    sure = [showing.reading(track, happiness=0.99) for track in (1, 2)]
    rows = "[...document.querySelectorAll('.face .bars li')].filter((row) => !row.hidden).length"
    page.comes(lambda: page.ask(rows) == 2, *sure)
    assert page.text(".rest").startswith("about 0 %: neutral, surprise")
    afraid = showing.reading(1, happiness=0.9, fear=0.095)
    page.comes(lambda: page.ask(rows) == 3, afraid, sure[1])
    page.comes(lambda: page.ask(rows) == len(EMOTIONS), sure[0])  # alone there is room


def test_the_diagram_and_the_state_of_the_model_are_shown(page: Page) -> None:
    page.comes(lambda: page.ask("document.querySelectorAll('#diagram rect').length") > 10)
    assert page.text("#calibration").startswith("ECE ")
    page.comes(lambda: "ferplus-fp32" in page.text("#status"))
    assert "not what a person feels" in page.text("footer")


def test_a_still_and_a_lost_source_are_named_plainly(page: Page, showing: Any) -> None:
    page.stage.status = replace(page.stage.status, still=True)
    page.comes(lambda: "not a live person" in page.text("#still"), showing.reading(happiness=0.9))
    lost = State("lost", "lost: opening it again in 4 s")
    page.stage.status = replace(page.stage.status, state=lost)
    page.comes(lambda: "opening it again" in page.text("#message"), showing.reading(happiness=0.9))
    assert page.text("#connection") == "not live"
    assert page.text(".face") == ""


def test_switches_work_by_button_and_by_key_and_show_their_state(page: Page) -> None:
    page.comes(lambda: page.text("#connection") == "live")
    page.ask("document.querySelector('[data-key=b]').click()")
    page.comes(lambda: not page.stage.controls.smoothed)
    raw = "document.querySelector('[data-key=b]').ariaPressed"
    page.comes(lambda: page.ask(raw) == "true")
    page.press("b")
    page.comes(lambda: page.stage.controls.smoothed)
    page.press(" ")
    page.comes(lambda: page.stage.controls.paused)
    page.comes(lambda: page.text("#connection") == "paused")
    page.press("h")
    assert "raw or smoothed bars" in page.text("#help[open]")
    assert not page.stage.controls.help  # nobody else's screen is covered


def test_the_crop_is_drawn_on_its_key(page: Page, showing: Any) -> None:
    reading = showing.reading(happiness=0.9)
    page.comes(lambda: page.text(".face h3") == "happiness", reading)
    page.press("v")
    page.comes(lambda: page.ask("document.querySelector('.face canvas')?.width") == 48, reading)
    drawn = (
        "[...document.querySelector('.face canvas').getContext('2d').getImageData(0,0,48,48).data]"
    )
    assert page.ask(f"{drawn}.slice(0, 12)") == [0, 0, 0, 255, 1, 1, 1, 255, 2, 2, 2, 255]


def test_q_ends_the_program_only_after_it_asked(page: Page) -> None:
    page.comes(lambda: page.text("#connection") == "live")
    page.press("q")
    assert "End the program?" in page.text("#quit[open]")
    page.ask("document.querySelector('#quit [data-close]').click()")
    assert page.stage.view.key() is None
    page.press("q")
    page.ask("document.querySelector('#quit-now').click()")
    pressed: list[str | None] = []
    page.comes(lambda: pressed.append(page.stage.view.key()) or "q" in pressed)


def test_a_screen_reader_hears_the_expression_and_not_every_frame(page: Page, showing: Any) -> None:
    heard = "window.heard"
    page.ask(
        "(window.heard = [], new MutationObserver(() => window.heard.push("
        "document.querySelector('#announcement').textContent)).observe("
        "document.querySelector('#announcement'), {childList: true}))"
    )
    page.comes(lambda: "happiness" in page.ask(heard), showing.reading(happiness=0.9))
    flickering = [showing.reading(happiness=0.9), showing.reading(fear=0.9)]
    for step in range(60):
        page.stage.show(flickering[step // 8 % 2])
        time.sleep(0.03)
    page.comes(lambda: "anger" in page.ask(heard), showing.reading(anger=0.9))
    assert len(page.ask(heard)) <= 3
    assert page.ask("document.querySelector('#announcement').ariaLive") == "polite"


def test_it_connects_again_after_the_server_was_restarted(
    page: Page, make_stage: Callable[..., Any], showing: Any
) -> None:
    page.comes(lambda: page.text(".face h3") == "happiness", showing.reading(happiness=0.9))
    first = page.stage
    first.view.close()
    ended = "document.body.classList.contains('stale')"
    page.stage = make_stage()  # elsewhere, to pass the time with
    page.comes(lambda: page.ask(ended) and "connection lost" in page.text("#message"))
    page.stage = make_stage(port=first.port)
    page.comes(lambda: page.text(".face h3") == "sadness", showing.reading(sadness=0.9))
    assert not page.ask(ended)
    page.comes(lambda: page.ask("document.querySelector('#picture').naturalWidth") == 640)


def test_numbers_alone_fill_the_page_where_there_is_no_video(
    browser: Any, make_stage: Callable[..., Any], showing: Any
) -> None:
    page = Page(browser, make_stage(video=False)).open()
    page.comes(lambda: page.text(".face h3") == "happiness", showing.reading(happiness=0.9))
    assert page.ask("document.querySelector('#live-picture').hidden")
    assert page.ask("document.querySelector('#picture').src") == ""
    assert page.ask("document.querySelector('[data-key=v]').hidden")
    browser.get("about:blank")


def test_the_link_lets_in_and_leaves_the_token_out_of_the_address(
    browser: Any, make_stage: Callable[..., Any], showing: Any, token: str
) -> None:
    page = Page(browser, make_stage(token=token)).open()
    assert "opens by its link" in page.text("h1")
    page.open("?token=wrong")
    assert "opens by its link" in page.text("h1")
    page.open(f"?token={token}")
    page.comes(lambda: page.text(".face h3") == "happiness", showing.reading(happiness=0.9))
    assert browser.current_url == page.stage.url
    assert page.ask("document.cookie") == ""
    page.open()  # the cookie suffices from now on
    page.comes(lambda: page.text(".face h3") == "anger", showing.reading(anger=0.9))
    browser.get("about:blank")


@pytest.fixture
def phone(browser: Any) -> Iterator[None]:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get("about:blank")


@pytest.mark.usefixtures("phone")
def test_on_a_phone_the_picture_stays_and_the_switches_come_before_the_cards(
    browser: Any, stage: Any, showing: Any
) -> None:
    browser.get_log("browser")
    page = Page(browser, stage).open()
    readings = [showing.reading(track, happiness=0.9) for track in range(1, 8)]
    unsure = showing.reading(8, reason="43 % sure, 50 % needed", contempt=0.43)
    page.comes(
        lambda: page.ask("document.querySelectorAll('.face').length") == 8, *readings, unsure
    )
    assert page.ask("document.documentElement.scrollWidth") <= 390
    assert page.ask("document.documentElement.scrollHeight") < 3 * 844
    tops = [
        page.ask(f"document.querySelector({where!r}).getBoundingClientRect().top")
        for where in ("#live-picture", "#switches", "#faces", "#reliability")
    ]
    assert tops == sorted(tops)
    page.ask("window.scrollTo(0, 600)")
    page.comes(
        lambda: (
            page.ask("document.querySelector('#live-picture').getBoundingClientRect().top") == 0
        ),
        *readings,
    )
    assert browser.get_log("browser") == []  # its policy was never broken


@pytest.mark.parametrize("faces", [0, 1, 2, 8])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_that_somebody_could_not_use(
    browser: Any,
    stage: Any,
    showing: Any,
    violations: Callable[[], list[str]],
    theme: str,
    faces: int,
) -> None:
    wanted = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
    page = Page(browser, stage).open()
    unsure = showing.reading(1, reason="too dark", neutral=0.4)
    readings = [unsure, *(showing.reading(track, happiness=0.9) for track in range(2, 9))][:faces]
    lanes = "document.querySelectorAll('.lane').length"
    page.comes(lambda: page.text("#status") and page.ask(lanes) == faces, *readings)
    assert violations() == []
    lost = State("lost", "lost: opening it again in 4 s")
    page.stage.status = replace(page.stage.status, state=lost)
    page.comes(lambda: "opening it again" in page.text("#message"), *readings)
    assert violations() == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.get("about:blank")
