"""Opens a model, and reads pictures and sources with it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.api.values import FrameReading, table
from rankotom_edge.closing import Closing
from rankotom_edge.frame import Frame, Image
from rankotom_edge.live.build import Reach, make_reader, open_classifier, open_detectors
from rankotom_edge.live.reader import Reader as FrameReader
from rankotom_edge.model import embedded
from rankotom_edge.model.onnx_runtime import Provider
from rankotom_edge.model.own_calibration import SavedCalibration, find_calibration
from rankotom_edge.pictures import check_size, decode_picture, read_picture
from rankotom_edge.readings.error_budget import ErrorBudget
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import Source, open_source
from rankotom_edge.sources.open_source import find_clip
from rankotom_edge.sources.sampling import Sampling
from rankotom_edge.sources.source_parser import parse_source

READ_TIMEOUT = 0.5  # seconds to wait for a camera's frame before an interrupt is noticed. By eye

FileName: TypeAlias = "str | os.PathLike[str]"


class Reader(Closing):
    """A model, opened; close it, or use it in a ``with`` block. Threads may share it: it reads one
    frame at a time.

    ``model``: an embedded name or an ``.onnx`` file. ``max_error``, ``max_error_each``, ``reach``,
    ``provider`` and ``threads`` mean what they mean for ``rankotom-edge camera``; errors are shares
    from 0 to 1. ``own_calibration``: what ``rankotom-edge calibrate`` found for a source is used
    for that source.
    """

    def __init__(
        self,
        model: FileName = embedded.DEFAULT,
        *,
        max_error: float | None = None,
        max_error_each: float = 0.5,
        reach: Reach = "auto",
        provider: Provider | Literal["auto"] = "auto",
        threads: int = 1,
        own_calibration: bool = True,
    ) -> None:
        for name, share in (("max_error", max_error), ("max_error_each", max_error_each)):
            if share is not None and not 0 <= share <= 1:
                raise RankotomError(f"{name} is a share from 0 to 1; {share} is none.")
        if reach not in get_args(Reach):
            raise RankotomError(f"reach is one of {', '.join(get_args(Reach))}; {reach!r} is none.")
        self._budget = ErrorBudget(max_error_each, max_error)
        self._uses_own = own_calibration
        self._lock = Lock()
        self._stream: FrameReader | None = None  # of the images that ``read`` is given with a time
        self._stream_frames = 0
        self._closed = False
        with ExitStack() as stack:
            self._classifier, self.notes = stack.enter_context(
                open_classifier(os.fspath(model), provider, threads)
            )
            self.artifact = self._classifier.artifact
            self._budget.confidence_needed(self.artifact.card.evaluation)  # refused at once
            self._detectors = stack.enter_context(open_detectors(reach))
            self._stack = stack.pop_all()

    @property
    def labels(self) -> tuple[str, ...]:
        """The expressions, in the model's order."""
        return self.artifact.card.labels

    def read(
        self,
        image: FileName | bytes | NDArray[Any],
        *,
        rgb: bool = False,
        time: float | None = None,
    ) -> FrameReading:
        """The faces of a picture: a file, its content, or an array of bytes, BGR as OpenCV gives
        it, ``rgb`` as Pillow does, or grey.

        ``time``, in seconds: the picture is the next one of your own camera. Its faces keep their
        numbers, and their readings are smoothed. Without it, every picture stands alone.
        """
        source, pixels = _load_image(image, rgb)
        with self._lock:
            self._check_open()
            if time is None:
                reader, index = self._reader_of(source, stills=True), 0
            else:
                if self._stream is None:
                    self._stream = self._reader_of(source, stills=False)
                reader, index = self._stream, self._stream_frames
                self._stream_frames += 1
            return FrameReading.of(reader.read(Frame(pixels, index, time or 0.0, captured=0.0)))

    def frames(
        self, source: FileName | int, fps: float | None = None
    ) -> Generator[FrameReading, None, None]:
        """Every frame of a source, as ``rankotom-edge camera --source`` takes it: a file, a folder
        or glob of images, a camera's number, a stream, or ``demo``.

        ``fps``: read so many frames a second of a video or camera, not all. Close the generator to
        close a camera early.
        """
        _check_fps(fps)
        name = str(source) if isinstance(source, int) else os.fspath(source)
        spec = parse_source(name)
        clip = find_clip(spec, fps)
        with ExitStack() as stack:
            if clip is not None:
                frames, photographs = clip.frames(), clip.photographs
                stack.callback(frames.close)
            else:
                opened = stack.enter_context(open_source(name))
                frames, photographs = _live_frames(opened), opened.photographs
            for latest in self.follow(frames, spec.name, photographs, fps):
                yield FrameReading.of(latest)
            if clip is not None and clip.remark is not None:
                warnings.warn(f"{spec.name}: {clip.remark}", stacklevel=2)

    def table(self, source: FileName | int, fps: float | None = None) -> dict[str, list[object]]:
        """A row for each face of each frame, as columns that ``pandas.DataFrame`` takes."""
        return table(self.frames(source, fps), self.labels)

    def follow(
        self,
        frames: Iterable[Frame],
        source: str | None,
        photographs: bool = False,
        fps: float | None = None,
    ) -> Generator[FrameReadings, None, None]:
        """For rankotom-edge's own commands: the readings as the views and recordings have them."""
        with self._lock:
            self._check_open()
            reader = self._reader_of(source, stills=photographs)
        sampling = Sampling(None if photographs else fps)
        for frame in frames:
            if sampling.takes(frame.time):
                with self._lock:
                    self._check_open()
                    latest = reader.read(frame)
                yield latest

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._stack.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RankotomError("The reader is closed. Read before its with block ends.")

    def _reader_of(self, source: str | None, stills: bool) -> FrameReader:
        own = None if source is None else self._find_own(source)
        return make_reader(self._classifier, self._detectors, self._budget, stills, own)

    def _find_own(self, source: str) -> SavedCalibration | None:
        own = find_calibration(self.artifact, source) if self._uses_own else None
        if own is None or own.expired is not None:
            return None
        if self._budget.overall is not None:
            raise RankotomError(
                f"max_error promises what was measured on {own.trial.faces} own faces of {source}, "
                "and these are too few for a promise. Use max_error_each, or own_calibration=False."
            )
        return own


def _live_frames(source: Source) -> Generator[Frame, None, None]:
    while source.state.kind != "ended":
        frame = source.read(READ_TIMEOUT)
        if frame is not None:
            yield frame


def _load_image(image: FileName | bytes | NDArray[Any], rgb: bool) -> tuple[str | None, Image]:
    """With the name that ``camera`` has for a file."""
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        return path.name, read_picture(path)
    if isinstance(image, bytes):
        with _explain_picture():
            return None, decode_picture(image)
    if not isinstance(image, np.ndarray):
        hint = " cv2.imread gives None for what it cannot read." if image is None else ""
        raise RankotomError(
            f"A picture is a file name or an array of bytes; this is {type(image).__name__}.{hint}"
        )
    channels = image.shape[2] if image.ndim == 3 else 1
    has_shape = image.ndim in (2, 3) and channels in (1, 3, 4) and image.size > 0
    if image.dtype != np.uint8 or not has_shape:
        raise RankotomError(
            "A picture is an array of bytes, (height, width) or (height, width, 3); this one is "
            f"{image.shape} of {image.dtype}."
        )
    height, width = image.shape[:2]
    with _explain_picture():
        check_size(width, height, most=image.size)  # it is in memory: only its sides matter
    return None, _to_bgr(image, channels, rgb)


@contextmanager
def _explain_picture() -> Iterator[None]:
    try:
        yield
    except RankotomError as error:
        raise RankotomError(f"The picture cannot be read: {error}") from error


def _to_bgr(image: NDArray[Any], channels: int, rgb: bool) -> Image:
    if channels == 3 and not rgb:
        return image
    conversions = {
        1: cv2.COLOR_GRAY2BGR,
        3: cv2.COLOR_RGB2BGR,
        4: cv2.COLOR_RGBA2BGR if rgb else cv2.COLOR_BGRA2BGR,
    }
    return np.asarray(cv2.cvtColor(image, conversions[channels]), dtype=np.uint8)


def _check_fps(fps: float | None) -> None:
    if fps is not None and not 0 < fps < float("inf"):
        raise RankotomError(f"fps is a number of frames a second, above 0; {fps} is none.")
