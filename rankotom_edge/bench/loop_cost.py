"""What the live loop costs: stage by stage, beside the calls that it makes, and over hours.

rankotom-edge bench   stage by stage, and one model beside another
make bench            the loop on a 640x480 clip with one face, and the first reading
make soak             memory, threads and file handles over 20,000 frames
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.frame import Frame
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, run_loop
from rankotom_edge.live.reader import Reader
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model import embedded as models
from rankotom_edge.model.artifact import INPUT, PROBABILITIES, Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.onnx_runtime import open_session
from rankotom_edge.model.target import needs_exact_arithmetic
from rankotom_edge.readings.frame_readings import FrameReadings, Status
from rankotom_edge.sources import Source, open_source
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.no_view import NoView

MAX_ERROR = 0.5
WARM_UP = 30  # frames before the clock starts: caches, and the track that a face must earn
SETTLED = 1000  # frames after which memory must not grow
PERCENTILES = (50, 95, 99)
BATCHES = (1, 4)  # faces at once
ROUNDS = 60  # of the models in turn; with 12 calls of 5 ms each, four seconds
LONGEST = 25.0  # seconds that the loop is watched, however slow the machine or the camera


@dataclass(frozen=True)
class FrameCost:
    """Of one frame, in milliseconds."""

    detect: float | None  # None where the faces were followed from an earlier frame
    follow: float  # finding the faces, without the detector's calls
    crop: float  # reading them, without the classifier's call: crop, quality, smoothing
    classify: float
    capture_to_reading: float
    loop: float  # since the frame before, whatever was waited for
    faces: int


STAGES = ("detect", "follow", "crop", "classify", "capture_to_reading", "loop")


@dataclass(frozen=True)
class LoopCost:
    frames: tuple[FrameCost, ...]
    cpu: float  # milliseconds, of all threads of the process

    @property
    def elapsed(self) -> float:
        return sum(frame.loop for frame in self.frames)

    @property
    def ratio(self) -> float:
        """Of the whole loop to the detector and classifier calls that it makes."""
        return self.elapsed / sum(frame.classify + (frame.detect or 0) for frame in self.frames)

    @property
    def fps(self) -> float:
        return 1000 * len(self.frames) / self.elapsed

    def times(self, stage: str) -> list[float]:
        """Of the frames that had this stage."""
        spent = (getattr(frame, stage) for frame in self.frames)
        return [time for time in spent if time is not None]

    def percentile(self, stage: str, percent: float) -> float | None:
        times = self.times(stage)
        return float(np.percentile(times, percent)) if times else None

    def as_json(self) -> dict[str, object]:
        stages = {
            stage: {
                "count": len(self.times(stage)),
                **{f"p{percent}_ms": _rounded(self.percentile(stage, percent))
                   for percent in PERCENTILES},
            }
            for stage in STAGES
        }  # fmt: skip
        return {
            "frames": len(self.frames),
            "faces": sum(frame.faces for frame in self.frames),
            "stages": stages,
            "throughput": round(self.fps, 2),
            "cpu_ms": round(self.cpu / len(self.frames), 3),
            "loop_ratio": round(self.ratio, 4),
        }


class Ledger:
    """A reader that notes what each frame costs the one that it stands before."""

    def __init__(self, reader: Reader, warm_up: int = WARM_UP) -> None:
        self.model, self.precision = reader.model, reader.precision
        self._reader = reader
        self._left = warm_up
        self._frames: list[FrameCost] = []
        self._ended = self._cpu_began = 0.0

    def read(self, frame: Frame) -> FrameReadings:
        started = time.perf_counter()
        moment = self._reader.read(frame)
        now = time.perf_counter()
        if self._left:
            self._left -= 1
            self._cpu_began = time.process_time()
        else:
            latency = moment.latency
            self._frames.append(
                FrameCost(
                    detect=latency.detect,
                    follow=latency.find - (latency.detect or 0.0),
                    crop=1000 * (now - started) - latency.find - latency.classify,
                    classify=latency.classify,
                    capture_to_reading=latency.total,
                    loop=1000 * (now - self._ended),
                    faces=len(moment.readings),
                )
            )
        self._ended = now
        return moment

    def cost(self) -> LoopCost | None:
        """None where it did not get beyond the warm-up."""
        cpu = 1000 * (time.process_time() - self._cpu_began)
        return LoopCost(tuple(self._frames), cpu) if self._frames else None


@dataclass(frozen=True)
class Comparison:
    """Two models on the same faces with as many threads: medians of a call, in milliseconds."""

    faces: int  # at once
    threads: int
    model: float
    against: float

    @property
    def speedup(self) -> float:
        """2 is twice as fast as the other."""
        return self.against / self.model

    def as_json(self) -> dict[str, object]:
        return {
            "faces": self.faces,
            "threads": self.threads,
            "model_ms": _rounded(self.model),
            "against_ms": _rounded(self.against),
            "speedup": _rounded(self.speedup),
        }


@dataclass(frozen=True)
class Footprint:
    """What a process holds on to."""

    megabytes: float
    threads: int
    handles: int

    @classmethod
    def now(cls) -> Footprint:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            megabytes=pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
            threads=len(os.listdir("/proc/self/task")),  # the libraries' own as well
            handles=len(os.listdir("/proc/self/fd")),
        )


class Watchman:
    """A sink that looks at the footprint once the loop has settled, and at its last frame."""

    def __init__(self, last: int) -> None:
        self.frames = 0
        self.settled: Footprint | None = None
        self.at_last: Footprint | None = None
        self._last = last

    def write(self, moment: FrameReadings) -> None:
        self.frames += 1
        if self.frames == SETTLED:
            self.settled = Footprint.now()
        if self.frames == self._last:
            self.at_last = Footprint.now()


class UntilLate:
    """Nothing to see, like ``NoView``, and closed when the time is up."""

    shows_faces = False
    interactive = False

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @property
    def closed(self) -> bool:
        return time.monotonic() > self._until

    def show(self, moment: FrameReadings | None, status: Status, controls: Controls) -> None:
        pass

    def key(self) -> str | None:
        return None


@contextmanager
def clip(frames: int) -> Iterator[Path]:
    """The demo's portrait as a 640x480 video file, so that decoding is part of what is timed."""
    with tempfile.TemporaryDirectory() as folder, open_source("demo") as demo:
        path = Path(folder) / "portrait.avi"
        writer: cv2.VideoWriter | None = None
        for _ in range(frames):
            frame = demo.read(10.0)
            assert frame is not None
            if writer is None:
                height, width = frame.image.shape[:2]
                motion_jpeg = cv2.VideoWriter.fourcc(*"MJPG")
                writer = cv2.VideoWriter(str(path), motion_jpeg, 30, (width, height))
            writer.write(frame.image)
        if writer is not None:
            writer.release()
        yield path


def measure_loop(
    source: Source, classifier: Classifier, frames: int, longest: float = LONGEST
) -> LoopCost | None:
    with FaceDetector() as near, FaceDetector("full") as far:  # as the camera has them
        reader = Reader(
            near.detect, classifier, MAX_ERROR, far=far.detect, stills=source.photographs
        )
        ledger = Ledger(reader)
        tally = RunStats(time.monotonic())
        run_loop(
            source, ledger, UntilLate(longest), KeyActions(), tally, Stop(frames=frames + WARM_UP)
        )
        return ledger.cost()


def compare_models(
    model: Artifact, against: Artifact, threads: Sequence[int], rounds: int = ROUNDS
) -> tuple[Comparison, ...]:
    """On the CPU, all in turns: a busy neighbour slows every one of them alike."""
    from rankotom_edge.model.latency import interleaved_medians

    plan = [(faces, count) for count in threads for faces in BATCHES]
    calls = [
        _call(artifact, faces, count) for faces, count in plan for artifact in (model, against)
    ]
    medians = iter(interleaved_medians(calls, rounds))
    return tuple(
        Comparison(faces, count, model=next(medians), against=next(medians))
        for faces, count in plan
    )


def _call(artifact: Artifact, faces: int, threads: int) -> Callable[[], object]:
    crop = artifact.card.crop
    exact = needs_exact_arithmetic(artifact.card)
    session = open_session(artifact.path, threads, optimise=not exact)
    shape = (faces, crop.channels, crop.size, crop.size)
    given = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    return lambda: session.run([PROBABILITIES], {INPUT: given})


def first_reading() -> float:
    """Seconds by the clock from the command to its first reading, warm disk."""
    command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo"]
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, "--view", "none", "--json", "-"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        seen = any('"track"' in line for line in process.stdout)
        seconds = time.perf_counter() - started
        process.stdout.close()
    if not seen:
        sys.exit("the command ended without a reading")
    return seconds


def bench(frames: int) -> None:
    classifier = Classifier(load_artifact(models.DEFAULT))
    with clip(frames + WARM_UP) as path, open_source(str(path)) as source:
        cost = measure_loop(source, classifier, frames)
    if cost is None:
        sys.exit(f"no frame in {LONGEST:.0f} s")
    middle, most = (cost.percentile("capture_to_reading", percent) or 0.0 for percent in (50, 95))
    print(f"{len(cost.frames)} frames of 640x480, one face, {models.DEFAULT}, no view")
    print(f"  whole loop / (detector + classifier)  {cost.ratio:.2f}   (at most 1.25)")
    print(f"  frames a second                       {cost.fps:.0f}   (at least 60)")
    print(f"  capture to reading, p50               {middle:.1f} ms")
    print(f"  capture to reading, p95               {most:.1f} ms   (under 40)")
    first_reading()
    seconds = min(first_reading() for _ in range(3))
    print(f"  first reading, best of 3              {seconds:.2f} s   (within 2)")
    if cost.ratio > 1.25 or cost.fps < 60 or most >= 40 or seconds >= 2:
        sys.exit("past a limit; on a busy machine, try again when it is quiet")


def soak(frames: int) -> None:
    watchman = Watchman(frames)
    before = Footprint.now()
    with open_source("demo") as source, FaceDetector() as near, FaceDetector("full") as far:
        classifier = Classifier(load_artifact(models.DEFAULT))
        reader = Reader(near.detect, classifier, MAX_ERROR, far=far.detect)
        tally = RunStats(time.monotonic())
        run_loop(source, reader, NoView(), KeyActions([watchman]), tally, Stop(frames=frames))
    after = Footprint.now()
    # A thread of MediaPipe's that has ended is still listed for a moment.
    ends = time.monotonic() + 2
    while after.threads > before.threads and time.monotonic() < ends:
        time.sleep(0.05)
        after = Footprint.now()
    if watchman.settled is None or watchman.at_last is None:
        sys.exit(f"{watchman.frames} frames are too few: it settles in {SETTLED}")
    growth = watchman.at_last.megabytes - watchman.settled.megabytes
    print(f"{watchman.frames} frames of the demo")
    print(f"  memory after {SETTLED} frames   {watchman.settled.megabytes:.1f} MB")
    print(f"  growth since              {growth:+.1f} MB   (under 10)")
    print(
        f"  threads, file handles     {before.threads} and {before.handles} before, "
        f"{after.threads} and {after.handles} after"
    )
    if growth >= 10 or after.threads > before.threads or after.handles > before.handles:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--soak", type=int, metavar="FRAMES")
    chosen = parser.parse_args()
    if chosen.soak is None:
        bench(chosen.frames)
    else:
        soak(chosen.soak)


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)


if __name__ == "__main__":
    main()
