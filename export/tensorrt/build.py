"""From a model file to its TensorRT engine, on the device that will run it.

The network is strongly typed: its precision is the file's, whose confidence was measured. That is
also the only kind that TensorRT 11 knows, and one that 10.3 does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

import numpy as np
import onnx
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from calib.errors import RankotomError
from calib.files import check_target, replacing
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge.interrupts import interrupts_to
from rankotom_edge.model.artifact import INPUT, Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.tensorrt_engine import (
    Device,
    Engine,
    complaints,
    engine_path,
    engines_folder,
    key_for,
    load_tensorrt,
    this_device,
    timing_path,
)

if TYPE_CHECKING:
    import tensorrt

# Faces at once: the fewest, the usual, the most. More are run in parts.
BATCHES = (1, 2, 16)
# For trying out kernels; else it is all of the memory, which a Jetson shares with the desktop.
WORKSPACE = 256 << 20
# Rounding differs between a CPU and a GPU, and moves a share by a point at most; a wrong graph by
# tens.
LARGEST_DIFFERENCE = 0.1


@dataclass(frozen=True)
class BuiltEngine:
    path: Path
    device: Device
    difference: float  # the largest of a probability from ONNX Runtime's


def build_engine(artifact: Artifact, folder: Path | None = None) -> BuiltEngine:
    """The engine of a model file for this device, in the cache where the live path finds it.

    It takes its place there only if it answers as ONNX Runtime does.
    """
    check_rules(artifact)
    device, cache = this_device(), engines_folder(folder)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RankotomError(f"Cannot make the folder {cache}: {error.strerror}.") from error
    path = engine_path(key_for(artifact, device), cache)
    check_target(path)
    plan = _plan(artifact, timing_path(device, cache))
    with replacing(path) as temporary:
        temporary.write_bytes(plan)
        difference = compare(artifact, temporary)
    return BuiltEngine(path, device, difference)


def check_rules(artifact: Artifact) -> None:
    """Refuse what TensorRT would refuse, before its device is asked for."""
    problems = tensorrt_problems(onnx.load(artifact.path))
    if problems:
        more = f" (and {len(problems) - 1:,} more of such)" if len(problems) > 1 else ""
        advice = (
            " Make one for it: rankotom-edge export --int8 --target tensorrt"
            if artifact.card.precision == "int8"
            else ""
        )
        raise RankotomError(
            f"TensorRT does not take {artifact.card.name}: {problems[0]}{more}{advice}"
        )


def compare(artifact: Artifact, engine_file: Path) -> float:
    """The largest difference of a probability between the engine and ONNX Runtime; or an error."""
    crop = artifact.card.crop
    shape = (BATCHES[-1] + 1, crop.channels, crop.size, crop.size)
    faces = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    expected = Classifier(artifact).classify(faces).probabilities
    with Classifier(artifact, engine=Engine(engine_file)) as classifier:
        found = classifier.classify(faces).probabilities
    difference = float(np.abs(found - expected).max())
    # Written so that NaN is refused too.
    if not difference < LARGEST_DIFFERENCE:
        raise RankotomError(
            f"The engine of {artifact.card.name} is not kept: its probabilities differ from ONNX "
            f"Runtime's by up to {100 * difference:.3g} points."
        )
    return difference


def _plan(artifact: Artifact, timing: Path) -> bytes:
    """A serialized engine, and the timings of its build beside it."""
    trt = load_tensorrt()
    log, title = complaints(trt), artifact.card.name
    try:
        builder: tensorrt.Builder = trt.Builder(log)
    except TypeError:  # pybind11's word for a null pointer
        log.raise_for(f"TensorRT {trt.__version__} does not start")
    network: tensorrt.INetworkDefinition = builder.create_network(
        1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    )
    parser: tensorrt.OnnxParser = trt.OnnxParser(network, log)
    if not parser.parse(artifact.path.read_bytes()):
        raise RankotomError(f"TensorRT {trt.__version__} does not take {title}: {_said(parser)}")
    config: tensorrt.IBuilderConfig = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, WORKSPACE)
    # It rounds FP32 to 10 bits of mantissa, and the file's confidence was measured with 23.
    config.clear_flag(trt.BuilderFlag.TF32)
    _set_batches(builder, config, artifact)
    _use_timings(config, timing)
    with build_progress(trt, title) as progress:
        config.progress_monitor = progress
        plan: tensorrt.IHostMemory | None = builder.build_serialized_network(network, config)
    if plan is None:
        log.raise_for(f"TensorRT {trt.__version__} could not build an engine of {title}")
    timed: tensorrt.ITimingCache = config.get_timing_cache()
    with replacing(timing) as temporary:
        temporary.write_bytes(bytes(timed.serialize()))
    return bytes(plan)


def _said(parser: tensorrt.OnnxParser) -> str:
    if parser.num_errors == 0:
        return "no reason given."
    error: tensorrt.ParserError = parser.get_error(0)
    more = f" ({parser.num_errors - 1} more)" if parser.num_errors > 1 else ""
    return f"at {error.node_operator()} {error.node_name()}: {error.desc()}{more}"


def _set_batches(
    builder: tensorrt.Builder, config: tensorrt.IBuilderConfig, artifact: Artifact
) -> None:
    crop = artifact.card.crop
    shapes = [(faces, crop.channels, crop.size, crop.size) for faces in BATCHES]
    profile: tensorrt.IOptimizationProfile = builder.create_optimization_profile()
    profile.set_shape(INPUT, *shapes)
    config.add_optimization_profile(profile)


def _use_timings(config: tensorrt.IBuilderConfig, timing: Path) -> None:
    """Of the last build; where they do not fit, of none."""
    saved = timing.read_bytes() if timing.is_file() else b""
    cache: tensorrt.ITimingCache | None = config.create_timing_cache(saved)
    if cache is None or not config.set_timing_cache(cache, ignore_mismatch=False):
        config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)


class BuildProgress:
    """A bar for each phase of a build, under the bar of the phase that it is part of."""

    def __init__(self, title: str) -> None:
        super().__init__()
        console = Console(stderr=True)
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.title = title
        self.stopped = False
        self.phases: dict[str, tuple[TaskID, int]] = {}

    def phase_start(self, name: str, parent: str | None, steps: int) -> None:
        depth = self.phases[parent][1] + 1 if parent in self.phases else 0
        described = f"{'  ' * depth}{name}" if depth else f"{self.title}: {name}"
        self.phases[name] = (self.bars.add_task(described, total=steps), depth)

    def step_complete(self, name: str, step: int) -> bool:
        """Whether to go on with the build."""
        if name in self.phases:
            self.bars.update(self.phases[name][0], completed=step + 1)
        return not self.stopped

    def phase_finish(self, name: str) -> None:
        if name in self.phases:
            self.bars.remove_task(self.phases.pop(name)[0])


@contextmanager
def build_progress(trt: ModuleType, title: str) -> Iterator[BuildProgress]:
    """The bars, as TensorRT takes them; an interrupt ends the build and is raised after it.

    Raised at once it would be lost, or worse: TensorRT calls back from where no exception may pass.
    """
    progress: BuildProgress = type("TensorRTProgress", (BuildProgress, trt.IProgressMonitor), {})(
        title
    )

    def stop(_signal: int, _frame: FrameType | None) -> None:
        progress.stopped = True

    with interrupts_to(stop), progress.bars:
        yield progress
    if progress.stopped:
        raise KeyboardInterrupt
