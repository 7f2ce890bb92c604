"""The colours of the live views: one for each emotion, the same in the window and the terminal.

They are Okabe and Ito's, with four moved until every kind of colour vision tells all eight apart on
a dark ground (a test measures it); a name or a place always says the same thing a second time.
"""

from collections.abc import Sequence
from typing import TypeAlias

Colour: TypeAlias = tuple[int, int, int]  # blue, green, red, as OpenCV has them

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
# Another model's labels take these, by their place in its list.
SPARE_HEX = tuple(EMOTION_HEX.values())

HALF_BRIGHT = 115  # brightness up to which light letters are read better on a colour than dark ones
GROUND_HEX = "#14171c"
TEXT_HEX = "#f4f6f8"
QUIET_HEX = "#a4adb8"
FAINT_HEX = "#5b6470"
WARNING_HEX = "#ffb224"
RECORDING_HEX = "#ff5a52"


def emotion_hex(labels: Sequence[str], index: int) -> str:
    return EMOTION_HEX.get(labels[index], SPARE_HEX[index % len(SPARE_HEX)])


def bgr(hexadecimal: str) -> Colour:
    red, green, blue = (int(hexadecimal[at : at + 2], 16) for at in (1, 3, 5))
    return blue, green, red


def brightness(colour: Colour) -> float:
    """As the eye weighs the three (Rec. 601), 0 to 255."""
    blue, green, red = colour
    return 0.114 * blue + 0.587 * green + 0.299 * red


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """``share`` of ``other`` in ``colour``."""
    blue, green, red = (
        round(part + (its - part) * share) for part, its in zip(colour, other, strict=True)
    )
    return blue, green, red
