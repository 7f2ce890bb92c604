"""The last minute of a face, as text."""

from rich.style import Style
from rich.text import Text

from calib.emotions import EMOTIONS
from rankotom_edge.views.history import Moment
from rankotom_edge.views.palette import EMOTION_HEX
from rankotom_edge.views.terminal.history_strip import history_strip

HAPPY, SURPRISED = EMOTIONS.index("happiness"), EMOTIONS.index("surprise")
LANE = (
    *[None] * 40,
    *[Moment((HAPPY,), False)] * 40,
    *[Moment((HAPPY,), True)] * 20,
    *[Moment((HAPPY, SURPRISED), False)] * 20,
)


def colour(line: Text, column: int) -> Style | str:
    return next(span.style for span in line.spans if span.start <= column < span.end)


def test_each_headline_has_its_cells_and_its_name_where_it_fits() -> None:
    band, names = history_strip(LANE, EMOTIONS, 60, 2)
    assert band.plain == "─" * 20 + "█" * 20 + "░" * 10 + "▀" * 10
    assert names.plain == " " * 20 + "happiness" + " " * 11 + "unsure" + " " * 14
    assert colour(band, 25) == EMOTION_HEX["happiness"]
    both = Style(color=EMOTION_HEX["happiness"], bgcolor=EMOTION_HEX["surprise"])
    assert colour(band, 55) == both


def test_a_high_band_has_one_colour_of_a_blend_above_the_other() -> None:
    upper, lower, names, axis = history_strip(LANE, EMOTIONS, 60, 4)
    assert colour(upper, 55) == EMOTION_HEX["happiness"]
    assert colour(lower, 55) == EMOTION_HEX["surprise"]
    assert {len(line) for line in (upper, lower, names, axis)} == {60}
    assert axis.plain.split() == ["1", "min", "ago", "now"]


def test_a_narrow_strip_shows_what_was_there_for_most_of_each_cell() -> None:
    mostly = (*[Moment((HAPPY,), False)] * 7, *[None] * 3) * 12
    assert history_strip(mostly, EMOTIONS, 12, 2)[0].plain == "█" * 12
