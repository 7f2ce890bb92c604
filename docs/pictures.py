"""Draw the documents' pictures: the window and the web page, moving and still, and two reports.

    python docs/pictures.py REFERENCE CANDIDATE FOLDER

REFERENCE and CANDIDATE hold predictions of ferplus-fp32 and ferplus-int8 for the same faces.
"""

import re
import sys
import time
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import cv2
from moving_picture import draw_moving_picture
from rich.console import Console, RenderableType
from rich.terminal_theme import TerminalTheme
from web_page import open_page

from calib.blends import compound_heatmap
from calib.drift import judge, measure_drift
from calib.evaluation import evaluate
from calib.files import replace_file
from calib.limits import Limits
from calib.prediction_files import read_predictions
from calib.reports.terminal import drift_report, evaluation_report
from rankotom_edge.frame import Image
from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, current_status, run_loop
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model import embedded as models
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.latency import compare_artifact_latency
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import open_source
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display
from rankotom_edge.views.history import History
from rankotom_edge.views.no_view import NoView
from rankotom_edge.views.window.overlay import Overlay

COLUMNS = 92
WINDOW = (1280, 860)
PAGE, SECONDS = (1280, 840), 60  # the timeline of the page shows a minute
# rich links a font from the internet; any monospace font will do.
REMOTE_FONT = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)
THEME = TerminalTheme(
    (16, 20, 26),
    (222, 226, 232),
    [
        (38, 43, 51),
        (213, 94, 0),
        (0, 158, 115),
        (230, 159, 0),
        (0, 114, 178),
        (204, 121, 167),
        (86, 180, 233),
        (222, 226, 232),
    ],
)


def draw_report(report: RenderableType, title: str, path: Path) -> None:
    """A report as the terminal shows it."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, highlight=False
    )
    console.print(report)
    svg = console.export_svg(title=title, theme=THEME, unique_id=path.stem)
    with replace_file(path) as temporary:
        temporary.write_text(REMOTE_FONT.sub("", svg), encoding="utf-8")
    print(path)


@dataclass
class LastReadings:
    """A sink that keeps the last readings, and the history for the strip."""

    last: FrameReadings | None = None
    history: History = field(default_factory=History)

    def write(self, readings: FrameReadings) -> None:
        self.last = readings
        self.history.add(readings.frame.time, readings.readings)


def draw_window(path: Path) -> None:
    """``rankotom-edge camera --source demo`` with the keys c and v pressed."""
    sink, actions, stats = LastReadings(), KeyActions(), RunStats(time.monotonic())
    with (
        open_source("demo", paced=True) as source,
        open_classifier(models.DEFAULT) as (classifier, _),
        open_reader(classifier) as reader,
    ):
        run_loop(source, reader, NoView(), actions, stats, Stop(frames=60), [sink])
        status = current_status(source, reader, stats, actions, time.monotonic())
    controls = Controls(crop=True, evidence=True)
    display = Display(sink.last, status, controls, sink.history)
    picture = Overlay(classifier.artifact.card).draw(display, WINDOW)
    write_jpeg(picture, path, quality=90)


def write_jpeg(picture: Image, path: Path, quality: int) -> None:
    with replace_file(path) as temporary:
        cv2.imwrite(str(temporary), picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    print(path)


def draw_web_page(path: Path) -> None:
    """``rankotom-edge camera --source demo --view web`` in a browser, after a minute."""
    with open_page("demo", PAGE) as shoot:
        time.sleep(SECONDS)
        write_jpeg(shoot(), path, quality=88)


def main(reference_file: Path, candidate_file: Path, folder: Path) -> None:
    reference, candidate = read_predictions(reference_file), read_predictions(candidate_file)
    fp32, int8 = load_artifact(models.FP32), load_artifact(models.INT8)
    evaluation = evaluate(reference, model=fp32.summary())
    heatmap = None
    if reference.votes is not None:
        heatmap = compound_heatmap(reference.probabilities, reference.votes, reference.classes)
    drift = measure_drift(
        reference,
        candidate,
        models=(fp32.summary(), int8.summary()),
        temperatures=(fp32.card.temperature, int8.card.temperature),
        size_ratio=int8.bytes / fp32.bytes,
        latency_ms=compare_artifact_latency(fp32, int8),
    )
    limits = Limits()
    verdict = judge(drift, limits)
    folder.mkdir(parents=True, exist_ok=True)
    draw_moving_picture(folder / "live.webp")
    draw_window(folder / "window.jpg")
    draw_web_page(folder / "web.jpg")
    draw_report(
        evaluation_report(evaluation, heatmap),
        f"rankotom-edge evaluate --model {models.FP32}",
        folder / "evaluate.svg",
    )
    draw_report(
        drift_report(drift, verdict, limits),
        f"rankotom-edge drift {models.FP32} {models.INT8}",
        folder / "drift.svg",
    )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*(Path(argument) for argument in sys.argv[1:]))
