"""The labelling page in a real Chromium: clicks, keys, touch, and what a person can read."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from calib.emotions import EMOTIONS

SIZES = {"phone": (390, 844), "small phone": (360, 640), "phone on its side": (844, 390)}
PATIENCE = 30.0
LOOKED = 0.4  # seconds, longer than the page's LOOK_MS


class Page:
    def __init__(self, browser: Any, run: Any) -> None:
        self.browser, self.run = browser, run

    def open(self, path: str = "") -> Page:
        self.browser.get(self.run.url + path)
        return self

    def ask(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    def text(self, selector: str) -> str:
        """What can be seen of it."""
        found = f"document.querySelector({selector!r})"
        return str(self.ask(f"{found}?.offsetParent ? {found}.innerText : ''"))

    def comes(self, found: Callable[[], object]) -> None:
        ends = time.monotonic() + PATIENCE
        while not found():
            assert time.monotonic() < ends, "it did not come"
            time.sleep(0.03)

    def shows(self, number: int) -> None:
        """The face with this number, long enough to be looked at."""
        self.comes(
            lambda: self.ask("document.querySelector('#face').dataset.number") == str(number)
        )
        self.comes(lambda: self.ask("document.querySelector('#face img').complete"))
        time.sleep(LOOKED)

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def click(self, selector: str) -> None:
        self.browser.find_element("css selector", selector).click()

    def boxes(self, selector: str) -> list[tuple[float, float, float, float]]:
        """Left, top, right and bottom of what can be seen of each."""
        script = (
            f"[...document.querySelectorAll({selector!r})].filter((each) => each.offsetParent)"
            ".map((each) => { const box = each.getBoundingClientRect();"
            " return [box.left, box.top, box.right, box.bottom]; })"
        )
        return [tuple(box) for box in self.ask(script)]


@pytest.fixture
def page(browser: Any, start: Callable[..., Any]) -> Iterator[Page]:
    opened = Page(browser, start()).open()
    opened.shows(0)
    yield opened
    browser.get("about:blank")


@contextmanager
def emulated(browser: Any, size: tuple[int, int], dark: bool, touch: bool) -> Iterator[None]:
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": touch}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touch})
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        browser.get("about:blank")


def test_clicks_and_keys_label_one_face_after_the_other(page: Page) -> None:
    assert page.text("#rater") == "Anna"
    assert page.text("#question") == "Which expression does this face show?"
    page.click("[data-name=sadness]")
    page.shows(1)
    assert page.run.labels == ["sadness"]
    page.press("2")
    page.shows(2)
    page.press("0")
    page.shows(3)
    page.press("?")
    page.shows(4)
    page.click("#cannot-tell")
    page.shows(5)
    assert page.run.labels == ["sadness", "happiness", None, None, None]
    assert page.text("#progress-words") == "5 of 6 faces, 1 to go; enough to begin from 8"
    assert page.ask("document.querySelector('#bar').position") == pytest.approx(5 / 6)


def test_the_picture_is_the_face_in_sight_and_fills_its_place(page: Page) -> None:
    for number in range(3):
        page.shows(number)
        assert page.ask("document.querySelector('#face img').alt") == f"Face {number + 1} of 6"
        source = page.ask("document.querySelector('#face img').src")
        assert source.endswith(f"/face/{page.run.state['run']}/{number}")
        ((left, top, right, bottom),) = page.boxes("#face img")
        assert right - left == pytest.approx(bottom - top, abs=1)  # it is square
        page.press("1")


def test_back_shows_the_raters_own_answer_and_changes_it(page: Page) -> None:
    assert page.ask("document.querySelector('#back').disabled")
    page.press("2")
    page.shows(1)
    assert page.text("#back").startswith("Back")
    assert "(happiness)" in page.text("#back")
    page.click("#back")
    page.shows(0)
    pressed = (
        "[...document.querySelectorAll('[aria-pressed=true]')].map((each) => each.dataset.name)"
    )
    assert page.ask(pressed) == ["happiness"]
    page.press("8")
    page.shows(1)
    assert page.ask(pressed) == []
    page.press("\ue003")  # backspace
    page.shows(0)
    assert page.ask(pressed) == ["contempt"]
    assert page.run.labels == ["happiness", "contempt"]


def test_a_second_tap_does_not_label_the_next_face(page: Page) -> None:
    page.ask(
        """(() => {
          const fear = document.querySelector('[data-name=fear]');
          new MutationObserver(() => fear.click()) // as soon as there is another face
            .observe(document.querySelector('#face'), { attributes: true });
          fear.click();
          fear.click(); // while the first is on its way
        })()"""
    )
    page.shows(1)
    assert page.run.labels == ["fear"]


def test_after_the_last_face_it_asks_once_more_then_thanks_and_the_command_goes_on(
    page: Page,
) -> None:
    for number in range(6):
        page.shows(number)
        page.press("1")
    page.comes(lambda: page.text("#end-title") == "All 6 faces have an answer.")
    assert page.ask("document.activeElement.id") == "end-title"
    page.press("b")
    page.shows(5)
    page.press("3")
    page.comes(lambda: page.text("#end-title"))
    page.press("\ue007")  # Enter
    page.comes(lambda: page.text("#end-title") == "Thank you, Anna")
    assert "You can close this page" in page.text("#end-words")
    assert page.run.ended()
    assert len(page.run.labels) == 7
    time.sleep(1)
    assert page.text("#notice") == ""  # that the program is gone is no news


def test_finishing_for_now_says_that_nothing_is_lost(page: Page) -> None:
    page.press("2")
    page.shows(1)
    page.click("#finish")
    page.comes(lambda: page.text("#end-title") == "Finished for now")
    words = page.text("#end-words")
    assert "1 of 6 faces, 5 to go" in words
    assert "Nothing is lost" in words
    assert page.run.ended()


def test_it_says_that_the_program_is_gone_and_goes_on_with_the_faces_of_the_next_run(
    browser: Any,
    open_program: Callable[..., Any],
    start: Callable[..., Any],
    faces: Callable[..., Any],
) -> None:
    killed = open_program(6)
    page = Page(browser, killed).open()
    page.shows(0)
    page.press("2")
    page.shows(1)
    killed.process.kill()
    killed.process.wait()
    page.comes(lambda: "No connection" in page.text("#notice"))
    assert page.ask("[...document.querySelectorAll('button')].every((each) => each.disabled)")
    page.press("3")
    before = page.ask("document.querySelector('#face img').src")
    # Other faces under the same numbers.
    page.run = start(faces(9)[3:], port=int(killed.place.partition(":")[2]))
    page.comes(lambda: page.ask("document.querySelector('#face img').src") != before)
    assert page.run.labels == ["happiness"]
    assert page.text("#notice") == ""
    browser.get("about:blank")


def test_the_link_lets_in_and_leaves_the_token_out_of_the_address(
    browser: Any, start: Callable[..., Any], token: str
) -> None:
    page = Page(browser, start(token=token)).open()
    assert "opens by its link" in page.text("h1")
    page.open(f"?token={token}")
    page.shows(0)
    assert browser.current_url == page.run.url
    page.press("6")
    page.shows(1)
    assert page.run.labels == ["disgust"]
    browser.get("about:blank")


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_on_a_phone_everything_fits_without_scrolling_and_fingers_find_the_buttons(
    browser: Any, start: Callable[..., Any], size: tuple[int, int]
) -> None:
    with emulated(browser, size, dark=False, touch=True):
        page = Page(browser, start()).open()
        page.shows(0)
        assert page.ask("document.documentElement.scrollWidth") <= size[0]
        assert page.ask("document.documentElement.scrollHeight") <= size[1]
        buttons = page.boxes("button")
        assert len(buttons) == 11
        picture = page.boxes("#face img")[0]
        assert min(picture[2] - picture[0], picture[3] - picture[1]) >= 200
        for left, top, right, bottom in (*buttons, picture):
            assert left >= 0
            assert top >= 0
            assert right <= size[0]
            assert bottom <= size[1]
        assert min(bottom - top for _, top, _, bottom in buttons) >= 38
        for one, other in itertools.combinations([*buttons, picture], 2):
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]
        from selenium.webdriver.common.actions.action_builder import ActionBuilder
        from selenium.webdriver.common.actions.pointer_input import PointerInput

        finger = ActionBuilder(browser, mouse=PointerInput("touch", "finger"))
        target = browser.find_element("css selector", "[data-name=surprise]")
        finger.pointer_action.move_to(target).pointer_down().pointer_up()
        finger.perform()
        page.shows(1)
        assert page.run.labels == ["surprise"]


def luminance(colour: str) -> float:
    """WCAG 2."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (float(number) / 255 for number in re.findall(r"[\d.]+", colour)[:3])
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_word_can_be_read_and_every_control_has_a_name(
    browser: Any, start: Callable[..., Any], dark: bool
) -> None:
    browser.get_log("browser")
    with emulated(browser, (1280, 800), dark, touch=False):
        page = Page(browser, start()).open()
        page.shows(0)
        page.press("2")
        page.shows(1)
        page.press("b")
        page.shows(0)
        words = page.ask(
            """[...document.querySelectorAll('body *')]
            .filter((each) => each.offsetParent && !each.disabled && [...each.childNodes]
              .some((node) => node.nodeType === 3 && node.data.trim()))
            .map((each) => {
              let ground = each;
              while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)')
                ground = ground.parentElement;
              return [each.innerText, getComputedStyle(each).color,
                getComputedStyle(ground).backgroundColor];
            })"""
        )
        assert len(words) >= 15
        for text, colour, ground in words:
            light, low = sorted((luminance(colour), luminance(ground)), reverse=True)
            assert (light + 0.05) / (low + 0.05) >= 4.5, text
        tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = [
            (node["role"]["value"], node["name"]["value"])
            for node in tree
            if not node["ignored"] and "name" in node
        ]
        buttons = [name for role, name in named if role == "button"]
        assert [name.split()[0] for name in buttons[1:9]] == list(EMOTIONS)
        assert all(name for name in buttons)
        assert ("image", "Face 1 of 6") in named
        assert any(role == "progressbar" and "1 of 6 faces" in name for role, name in named)
        assert any(role == "heading" and "Which expression" in name for role, name in named)
        assert {role for role, _ in named} >= {"main", "banner", "contentinfo", "region", "status"}
        order = []
        for _ in range(11):
            page.press("\ue004")  # Tab
            order.append(page.ask("document.activeElement.dataset.key"))
        assert order[0] == "q"
        assert sorted(filter(None, order)) == sorted([*"123456780", "q"])  # back is disabled here
        page.ask("document.querySelector('[data-name=fear]').focus({focusVisible: true})")
        focused = page.ask("getComputedStyle(document.activeElement).outlineWidth")
        assert focused == "3px"
    assert browser.get_log("browser") == []


def test_a_screen_reader_hears_what_was_kept_and_which_face_it_is(page: Page) -> None:
    page.comes(
        lambda: "Face 1 of 6" in page.ask("document.querySelector('#announcement').textContent")
    )
    page.press("5")
    page.shows(1)
    heard = page.ask("document.querySelector('#announcement').textContent")
    assert heard == "Kept: anger. Face 2 of 6."


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_that_people_with_disabilities_cannot_use(
    browser: Any,
    violations: Callable[[], list[str]],
    start: Callable[..., Any],
    dark: bool,
) -> None:
    with emulated(browser, SIZES["phone"], dark=dark, touch=True):
        page = Page(browser, start()).open()
        page.shows(0)
        assert violations() == []
