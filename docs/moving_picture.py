"""Draws the moving picture of the README: the window, then the page, on the portrait of the demo
and on a drawn face. Every reading in it is the embedded model's own.

    python docs/moving_picture.py FILE.webp
"""

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from drawn_face import Expression, FaceDrawing
from PIL import Image as Picture
from web_page import open_page

from calib.errors import RankotomError
from calib.files import replace_file
from rankotom_edge.faces.quality import REASONS
from rankotom_edge.frame import Frame, Image
from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.model import embedded
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import Reading
from rankotom_edge.sources import State
from rankotom_edge.sources.demo import demo_picture, load_portrait
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.drawing.canvas import draw_text
from rankotom_edge.views.history import History
from rankotom_edge.views.palette import TEXT
from rankotom_edge.views.window.overlay import Overlay

FPS, SHOWN_FPS = 30, 10  # frames that are read, and those that are drawn
ROOM, STRIP = (960, 540), 44  # the window; the line above it that says what is shown
STRIP_COLOUR = (58, 50, 44)
FADE = 4  # drawn frames from one scene to the next
QUALITY = 68  # of WebP: chosen by eye
FRAME, CENTRE, SCALE = (640, 480), (320, 205), 108  # of the drawn face
MOVE = 0.8  # seconds from one expression to the next

REST = Expression()
SMILE = Expression(smile=1.0, mouth_open=0.15)
HAPPILY_SURPRISED = Expression(smile=0.72, mouth_open=0.92, brows_up=1.0, eyes_wide=1.0)
SAD = Expression(smile=-0.8, inner_brows_up=0.8)
DARK = (0.08, 0.10, 0.06, 0.12)  # of the light; one in which the model is not sure is taken


@dataclass(frozen=True)
class Act:
    """What the drawn face does from ``start``, in seconds."""

    start: float
    expression: Expression
    light: float = 1.0


PORTRAIT_SECONDS, DRAWING_SECONDS = 3.2, 12.8
SURE_WORDS = "an expression, and how often such a number is right"
BLEND_WORDS = "a blend of two expressions"
UNSURE_WORDS = "unsure: why, and what to do about it"
PAGE_WORDS = "the same on a page, for a machine without a screen"
PAGE_AFTER, PAGE_SHOTS, SHOT_EVERY = 34.0, 8, 0.7  # seconds; a timeline fills up first


def acts_in(darkness: float) -> tuple[Act, ...]:
    return (
        Act(0.0, REST),
        Act(1.8, SMILE),
        Act(4.0, HAPPILY_SURPRISED),
        Act(7.8, REST, darkness),
        Act(11.4, SMILE),
    )


PAGE_ACTS = (*acts_in(1.0)[:3], Act(7.8, SAD), Act(10.6, REST))


def drawn_picture(drawing: FaceDrawing, seconds: float, acts: tuple[Act, ...]) -> Image:
    first = acts[0]
    expression, light = first.expression, first.light
    for act in acts[1:]:
        if seconds < act.start:
            break
        share = min(1.0, (seconds - act.start) / MOVE)
        share = share * share * (3 - 2 * share)  # starts and ends gently
        expression = expression.towards(act.expression, share)
        light += share * (act.light - light)
    return drawing.draw(expression, light)


def portrait_pictures() -> Iterator[Image]:
    portrait = load_portrait()
    for index in range(round(PORTRAIT_SECONDS * FPS)):
        yield demo_picture(portrait, 0.35 * index / FPS)  # a calm hand


def drawn_pictures(acts: tuple[Act, ...]) -> Iterator[Image]:
    drawing = FaceDrawing(FRAME, CENTRE, SCALE)
    for index in range(round(DRAWING_SECONDS * FPS)):
        yield drawn_picture(drawing, index / FPS, acts)


def find_darkness() -> float:
    drawing = FaceDrawing(FRAME, CENTRE, SCALE)
    for light in DARK:
        last = read_pictures([drawing.draw(REST, light)] * FPS)[-1]
        if [reading.reason for reading in last.readings] == [REASONS["light"]]:
            return light
    raise RankotomError("the drawn face is read as sure in every darkness; change DARK")


def read_pictures(pictures: Iterable[Image]) -> list[FrameReadings]:
    with open_classifier(embedded.DEFAULT) as (classifier, _), open_reader(classifier) as reader:
        return [
            reader.read(Frame(picture, index, index / FPS, time.monotonic()))
            for index, picture in enumerate(pictures)
        ]


def draw_window_scene(name: str, read: list[FrameReadings]) -> Iterator[Image]:
    """From the first reading on."""
    card = load_artifact(embedded.DEFAULT).card
    latency = float(np.median([readings.latency.total for readings in read]))
    status = Status(name, State("playing", ""), FPS, latency, 0, card.name, card.precision)
    overlay, history = Overlay(card), History()
    for index, readings in enumerate(read):
        history.add(readings.frame.time, readings.readings)
        if index % (FPS // SHOWN_FPS) == 0 and readings.readings:
            drawn = overlay.draw(Display(readings, status, Controls(), history), ROOM)
            yield titled(drawn, "rankotom-edge camera", words_for(readings.readings[0]))


def words_for(reading: Reading) -> str:
    if reading.verdict == "unsure":
        return UNSURE_WORDS
    return SURE_WORDS if reading.blend is None else BLEND_WORDS


def titled(picture: Image, command: str, words: str) -> Image:
    """With a line above it: the command, and what it shows."""
    strip = np.full((STRIP, picture.shape[1], 3), STRIP_COLOUR, np.uint8)
    draw_text(strip, f"$ {command}", (16, 12), 16, TEXT, bold=True)
    draw_text(strip, words, (picture.shape[1] - 16, 12), 16, TEXT, right=True)
    return np.vstack([strip, picture])


def page_clip(path: Path) -> None:
    """The portrait and the drawn face side by side; longer than the page is watched."""
    side = 480
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), FPS, (2 * side, side))
    portrait, drawing = load_portrait(), FaceDrawing((side, side), (240, 205), 100)
    for index in range(round(1.5 * PAGE_AFTER) * FPS):
        seconds = index / FPS
        drawn = drawn_picture(drawing, seconds % DRAWING_SECONDS, PAGE_ACTS)
        shown = demo_picture(portrait, 0.35 * seconds, (side, side))
        writer.write(np.hstack([shown, drawn]))
    writer.release()


def draw_page_scene() -> Iterator[Image]:
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "two-faces.mp4"
        page_clip(clip)
        with open_page(str(clip), (ROOM[0], ROOM[1])) as shoot:
            time.sleep(PAGE_AFTER)
            due = time.monotonic()
            for _ in range(PAGE_SHOTS):
                yield titled(shoot(), "rankotom-edge camera --view web", PAGE_WORDS)
                due += SHOT_EVERY
                time.sleep(max(0.0, due - time.monotonic()))


def faded(scenes: list[list[Image]]) -> Iterator[tuple[Image, int]]:
    """Every picture with the milliseconds that it stays."""
    for number, scene in enumerate(scenes):
        milliseconds = round(1000 * (SHOT_EVERY if number == len(scenes) - 1 else 1 / SHOWN_FPS))
        for picture in scene:
            yield picture, milliseconds
        after = scenes[(number + 1) % len(scenes)][0]
        for step in range(1, FADE):
            share = step / FADE
            mixed = cv2.addWeighted(scene[-1], 1 - share, after, share, 0)
            yield np.asarray(mixed, np.uint8), round(1000 / SHOWN_FPS)


def write_webp(pictures: Iterable[tuple[Image, int]], path: Path) -> None:
    images: list[Picture.Image] = []
    durations: list[int] = []
    for picture, milliseconds in pictures:
        image = Picture.fromarray(picture[..., ::-1])
        if images and images[-1].tobytes() == image.tobytes():
            durations[-1] += milliseconds
            continue
        images.append(image)
        durations.append(milliseconds)
    with replace_file(path) as temporary:
        images[0].save(
            temporary,
            "WEBP",
            save_all=True,
            append_images=images[1:],
            duration=durations,
            loop=0,
            quality=QUALITY,
            method=4,
        )
    print(path)


def draw_moving_picture(path: Path) -> None:
    acts = acts_in(find_darkness())
    scenes = (
        draw_window_scene("demo", read_pictures(portrait_pictures())),
        draw_window_scene("a drawing", read_pictures(drawn_pictures(acts))),
        draw_page_scene(),
    )
    write_webp(faded([list(scene) for scene in scenes]), path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    draw_moving_picture(Path(sys.argv[1]))
