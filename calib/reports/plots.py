"""What every plot shares: the file, the headline, the colours and the reliability diagram.

matplotlib is loaded only when a plot is drawn.
"""

import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calib.errors import RankotomError
from calib.files import replace_file
from calib.metrics import Bin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".pdf", ".png", ".svg")
# Okabe and Ito's colours, in the shades that are readable on white.
BLUE, SKY, ORANGE, RUST = "#0072b2", "#56b4e9", "#e69f00", "#d55e00"
INK, BAR, FAINT, GRID = "#22262b", "#c9d0d8", "#7d8794", "#eceff2"
STYLE: dict[Any, Any] = {
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "font.size": 9.5,
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
}


@contextmanager
def plot_file(path: Path, size: tuple[float, float]) -> Iterator["Figure"]:
    """A matplotlib figure that is saved when the block ends. Without pyplot, no state remains."""
    if path.suffix.lower() not in FORMATS:
        raise RankotomError(
            f"cannot draw {path}: a plot's name ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # A name may have letters that the font lacks: they show as empty boxes.
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=size, facecolor="white")
        yield figure
        with replace_file(path) as temporary:
            figure.savefig(temporary, dpi=150)


def add_headline(
    figure: "Figure", title: str, words: str, colour: str, foot_inches: float = 0.3
) -> None:
    """The title and the verdict, in a strip at the top that the layout keeps free."""
    titles, lines = wrap_words(title, 88), wrap_words(words, 136)
    height = figure.get_figheight()
    below_title = 0.2 + 0.25 * len(titles)
    free = (below_title + 0.15 + 0.2 * len(lines)) / height
    foot = foot_inches / height
    figure.set_layout_engine("constrained", rect=(0.006, foot, 0.986, 1 - free - foot))
    figure.text(
        0.012, 1 - 0.14 / height, "\n".join(titles), va="top", fontsize=14, fontweight="bold"
    )
    verdict = "\n".join(lines)
    figure.text(0.012, 1 - below_title / height, verdict, va="top", fontsize=10.5, color=colour)


def wrap_words(words: str, width: int) -> list[str]:
    """Lines that never break a name at its hyphen."""
    return textwrap.wrap(words, width, break_on_hyphens=False)


def draw_reliability(diagram: "Axes", counts: "Axes", bins: tuple[Bin, ...]) -> None:
    """The reliability diagram, and under it the number of faces in each bin."""
    diagram.plot([0, 100], [0, 100], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
    for bin_ in bins:
        if bin_.confidence is None or bin_.accuracy is None:
            continue
        _draw_bar(diagram, bin_, bin_.confidence, bin_.accuracy)
    diagram.set(xlim=(0, 100), ylim=(0, 100), ylabel="how often that was right, %")
    diagram.grid(color=GRID, zorder=0)
    _add_legend(diagram)
    middles = [50 * (bin_.low + bin_.high) for bin_ in bins]
    numbers = [bin_.count for bin_ in bins]
    counts.bar(middles, numbers, width=92 / len(bins), color=FAINT)
    for middle, number in zip(middles, numbers, strict=True):
        if number:
            counts.annotate(
                f"{number:,}",
                (middle, number),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=7,
                color=FAINT,
            )
    counts.set(
        xlim=(0, 100), xlabel="confidence shown, %", ylabel="faces", ylim=(0, 1.3 * max(numbers))
    )
    counts.set_yticks([])
    counts.spines["left"].set_visible(False)


def _draw_bar(axes: "Axes", bin_: Bin, confidence: float, accuracy: float) -> None:
    left, width = 100 * bin_.low, 100 * (bin_.high - bin_.low)
    solid, top = 100 * min(confidence, accuracy), 100 * max(confidence, accuracy)
    over = confidence > accuracy
    axes.bar(left, solid, width, align="edge", color=BAR, edgecolor="white", zorder=2)
    axes.bar(
        left,
        top - solid,
        width,
        bottom=solid,
        align="edge",
        color=ORANGE if over else SKY,
        edgecolor="white",
        hatch="////" if over else "",
        zorder=3,
    )


def _add_legend(axes: "Axes") -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    axes.legend(
        handles=[
            Patch(color=BAR, label="right"),
            Patch(facecolor=ORANGE, edgecolor="white", hatch="////", label="too sure"),
            Patch(color=SKY, label="not sure enough"),
            Line2D([], [], color=INK, linewidth=1, linestyle="--", label="perfect calibration"),
        ],
        loc="upper left",
        fontsize=8.5,
        frameon=True,  # the bars of a few faces may be as tall
        edgecolor="none",
    )
