"""The colours of the live views: one per emotion, the same in window, terminal and web page.

They start from the palette of Okabe and Ito; four were moved so that all eight can be told apart on
a dark ground with every kind of colour vision (tests/rankotom_edge/views/test_palette.py measures
it). Nothing is shown by colour alone: a name or a position always says the same.
"""

from collections.abc import Sequence
from typing import TypeAlias

from rankotom_edge.readings.reading import Reading

Colour: TypeAlias = tuple[int, int, int]  # blue, green, red, as in OpenCV

EMOTION_HEX = {
    "neutral": "#c3cad3",
    "happiness": "#f0e442",
    "surprise": "#e69f00",
    "sadness": "#56b4e9",
    "anger": "#cf3a17",
    "disgust": "#17824a",
    "fear": "#cf6eb5",
    "contempt": "#0077e6",
}
# Labels of other models take these, by their index.
SPARE_HEX = tuple(EMOTION_HEX.values())

GROUND_HEX = "#14171c"
CARD_HEX = "#20252c"
TEXT_HEX = "#f4f6f8"
QUIET_HEX = "#a4adb8"
FAINT_HEX = "#5b6470"
WARNING_HEX = "#ffb224"
RECORDING_HEX = "#ff5a52"
UNSURE_HEX = "#8c949e"

# Above this brightness dark text has the better contrast on a colour; the test measures it too.
DARK_TEXT_ABOVE = 115


def emotion_hex(labels: Sequence[str], index: int) -> str:
    return EMOTION_HEX.get(labels[index], SPARE_HEX[index % len(SPARE_HEX)])


def bgr(hexadecimal: str) -> Colour:
    red, green, blue = (int(hexadecimal[at : at + 2], 16) for at in (1, 3, 5))
    return blue, green, red


GROUND, TEXT, QUIET, FAINT = (bgr(name) for name in (GROUND_HEX, TEXT_HEX, QUIET_HEX, FAINT_HEX))
CARD = bgr(CARD_HEX)
WARNING, RECORDING = bgr(WARNING_HEX), bgr(RECORDING_HEX)


def reading_colour(reading: Reading, index: int | None = None) -> Colour:
    """The colour of an emotion, or of the highest; faded towards grey if the reading is unsure."""
    index = int(reading.probabilities.argmax()) if index is None else index
    colour = bgr(emotion_hex(reading.labels, index))
    return mix(colour, bgr(UNSURE_HEX), 0.75) if reading.verdict == "unsure" else colour


def headline_colour(reading: Reading) -> Colour:
    """Of a face's box, caption and number: the highest emotion's, or grey if it is unsure."""
    return bgr(UNSURE_HEX) if reading.verdict == "unsure" else reading_colour(reading)


def text_colour_on(colour: Colour) -> Colour:
    blue, green, red = colour
    brightness = 0.114 * blue + 0.587 * green + 0.299 * red  # Rec. 601, 0 to 255
    return GROUND if brightness > DARK_TEXT_ABOVE else TEXT


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """``share`` of ``other`` in ``colour``."""
    blue, green, red = (
        round(part + (its - part) * share) for part, its in zip(colour, other, strict=True)
    )
    return blue, green, red
