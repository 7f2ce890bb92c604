"""What is drawn on the page stands out from what lies beside it: 3 to 1, as WCAG 2.2 asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from calib.emotions import EMOTIONS

ENOUGH = 3.0
# Every colour becomes the pixel that Chromium would draw. Rows: what is drawn, beside what, and the
# colours of which one must stand out.
MEASURE = """
const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
const pen = canvas.getContext("2d", {willReadFrequently: true});
const pixel = (colour) => {
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data];
};
const all = (selector) => [...document.querySelectorAll(selector)];
const style = (element) => getComputedStyle(element);
const ground = (selector) => style(document.querySelector(selector)).backgroundColor;
const probe = document.body.appendChild(document.createElement("i"));
const named = (element, name) => {
  probe.style.color = style(element).getPropertyValue(name);
  return style(probe).color;
};
const shadow = (element) => style(element).boxShadow.split(/ (?=0px)/)[0];
const card = ground(".card"), track = ground(".bar");
const right = style(document.querySelector("#diagram .right")).fill;
const rows = [];
for (const fill of all(".face:not(.unsure) .fill")) {
  const beside = fill.closest("li").dataset.label + " on its track";
  rows.push([beside, track, [style(fill).backgroundColor, named(fill, "--edge")]]);
}
for (const fill of all(".unsure .fill")) {
  rows.push(["unsure", track, [style(fill).backgroundColor]]);
}
for (const mark of all(".mark:not([hidden])")) {
  rows.push(["mark on its halo", shadow(mark), [style(mark).backgroundColor]]);
}
for (const run of all(".run.coloured")) {
  rows.push(["run in its lane", ground(".band"), [named(run, "--colour"), named(run, "--edge")]]);
}
for (const run of all(".run.unsure")) rows.push(["hatching", track, [named(run, "--right")]]);
for (const swatch of all(".swatch.coloured")) {
  rows.push(["swatch", card, [style(swatch).backgroundColor, named(swatch, "--edge")]]);
}
for (const bin of all("#diagram .right")) rows.push(["right", card, [style(bin).stroke]]);
for (const bin of all("#diagram .over, #diagram .under")) {
  rows.push(["gap on right", right, [style(bin).stroke]], ["gap", card, [style(bin).stroke]]);
}
const hatch = style(document.querySelector("#diagram .hatch")).stroke;
rows.push(["too sure", style(document.querySelector("#diagram .ground")).fill, [hatch]]);
const dot = getComputedStyle(document.querySelector("#connection"), "::before");
rows.push(["live", ground("body"), [dot.backgroundColor]]);
probe.remove();
return rows.map(([what, beside, colours]) => [what, pixel(beside), colours.map(pixel)]);
"""


def luminance(pixel: list[int]) -> float:
    red, green, blue, alpha = pixel
    assert alpha == 255, "a colour that one sees through has no contrast of its own"
    shares = [part / 255 for part in (red, green, blue)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[int], other: list[int]) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.fixture
def in_theme(browser: Any, theme: str) -> Iterator[str]:
    wanted = [{"name": "prefers-color-scheme", "value": theme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
    yield theme
    browser.get("about:blank")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.usefixtures("in_theme")
def test_every_bar_mark_and_swatch_stands_out(browser: Any, stage: Any, showing: Any) -> None:
    readings = [
        showing.reading(1, happiness=0.9),
        showing.reading(2, happiness=0.5, surprise=0.4),
        showing.reading(3, reason="too dark", neutral=0.4),
    ]
    browser.get(stage.url)

    def drawn() -> object:
        kinds = (".run.coloured", ".run.unsure", ".fill", "#diagram .over", "#diagram .under")
        return all(
            browser.execute_script("return document.querySelector(arguments[0])", kind)
            for kind in kinds
        )

    stage.show_until(drawn, *readings)
    rows = browser.execute_script(MEASURE)
    low = [
        (what, round(best, 2))
        for what, beside, colours in rows
        if (best := max(contrast(beside, colour) for colour in colours)) < ENOUGH
    ]
    assert low == []
    assert {what for what, *_ in rows} >= {f"{name} on its track" for name in EMOTIONS}
