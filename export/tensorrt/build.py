"""Build the TensorRT engine of a model file, on the device that will run it.

The network is strongly typed: TensorRT keeps the precision of the file, with which its confidence
was measured. TensorRT 11 supports no other networks.
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
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from calib.errors import RankotomError
from calib.files import check_target, replace_file
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge.interrupts import redirect_interrupts
from rankotom_edge.model.artifact import INPUT, Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.tensorrt_cache import Device, engine_path, engines_folder, timing_path
from rankotom_edge.model.tensorrt_engine import Engine, load_tensorrt, make_error_log, this_device

if TYPE_CHECKING:
    import tensorrt

# Faces at once: minimum, optimum, maximum. More than the maximum are run in parts. Chosen by eye.
BATCHES = (1, 2, 16)
# Bytes for trying out kernels, chosen by eye. The default is all of the memory, which a Jetson
# shares with the desktop.
WORKSPACE = 256 << 20
# Of a probability: more than the different rounding of a CPU and a GPU explains. Chosen by eye.
MAX_DIFFERENCE = 0.1


@dataclass(frozen=True)
class BuiltEngine:
    path: Path
    device: Device
    difference: float  # the largest between its probabilities and ONNX Runtime's


def build_engine(artifact: Artifact, folder: Path | None = None) -> BuiltEngine:
    """Build it for this device, into the cache where the live app looks for it.

    It is kept only if its probabilities are those of ONNX Runtime.
    """
    _check_rules(artifact)
    device, cache = this_device(), engines_folder(folder)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RankotomError(f"Cannot make the folder {cache}: {error.strerror}.") from error
    path = engine_path(artifact, device, cache)
    check_target(path)
    plan = _build_plan(artifact, timing_path(device, cache))
    with replace_file(path) as temporary:
        temporary.write_bytes(plan)
        difference = _compare(artifact, temporary)
    return BuiltEngine(path, device, difference)


def _check_rules(artifact: Artifact) -> None:
    """Refuse what TensorRT would refuse, before any device is needed."""
    problems = tensorrt_problems(onnx.load(artifact.path))
    if problems:
        more = f" ({len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
        advice = (
            " Make an INT8 model for it: rankotom-edge export --int8 --target tensorrt"
            if artifact.card.precision == "int8"
            else ""
        )
        raise RankotomError(
            f"TensorRT cannot build {artifact.card.name}: {problems[0]}{more}{advice}"
        )


def _compare(artifact: Artifact, engine_file: Path) -> float:
    """The largest difference of a probability from ONNX Runtime's; an error if it is too large."""
    crop = artifact.card.crop
    shape = (BATCHES[-1] + 1, crop.channels, crop.size, crop.size)
    faces = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    expected = Classifier(artifact).classify(faces).probabilities
    with Classifier(artifact, engine=Engine(engine_file)) as classifier:
        found = classifier.classify(faces).probabilities
    difference = float(np.abs(found - expected).max())
    # In this form NaN is refused too.
    if not difference < MAX_DIFFERENCE:
        raise RankotomError(
            f"The engine of {artifact.card.name} was not kept: its probabilities differ from ONNX "
            f"Runtime's by up to {100 * difference:.3g} points."
        )
    return difference


def _build_plan(artifact: Artifact, timing: Path) -> bytes:
    """The serialized engine; the timings of the build are written to ``timing``."""
    trt = load_tensorrt()
    log, title = make_error_log(trt), artifact.card.name
    try:
        builder: tensorrt.Builder = trt.Builder(log)
    except TypeError:  # what pybind11 raises for a null pointer
        log.raise_for(f"TensorRT {trt.__version__} does not start")
    network: tensorrt.INetworkDefinition = builder.create_network(
        1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    )
    parser: tensorrt.OnnxParser = trt.OnnxParser(network, log)
    if not parser.parse(artifact.path.read_bytes()):
        raise RankotomError(
            f"TensorRT {trt.__version__} cannot parse {title}: {_parser_error(parser)}"
        )
    config: tensorrt.IBuilderConfig = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, WORKSPACE)
    # TF32 has 10 bits of mantissa; the confidence of the file was measured with the 23 of FP32.
    config.clear_flag(trt.BuilderFlag.TF32)
    _set_batches(builder, config, artifact)
    _load_timings(config, timing)
    with build_progress(trt, title) as progress:
        config.progress_monitor = progress
        plan: tensorrt.IHostMemory | None = builder.build_serialized_network(network, config)
    if plan is None:
        log.raise_for(f"TensorRT {trt.__version__} could not build an engine of {title}")
    timed: tensorrt.ITimingCache = config.get_timing_cache()
    with replace_file(timing) as temporary:
        temporary.write_bytes(bytes(timed.serialize()))
    return bytes(plan)


def _parser_error(parser: tensorrt.OnnxParser) -> str:
    if parser.num_errors == 0:
        return "it gives no reason."
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


def _load_timings(config: tensorrt.IBuilderConfig, timing: Path) -> None:
    """Those of the last build, if TensorRT accepts them."""
    saved = timing.read_bytes() if timing.is_file() else b""
    cache: tensorrt.ITimingCache | None = config.create_timing_cache(saved)
    if cache is None or not config.set_timing_cache(cache, ignore_mismatch=False):
        config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)


class BuildProgress:
    """A progress bar for each phase of a build, below the bar of its parent phase."""

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
        self.title = escape(title)  # a name may look like markup
        self.stopped = False
        self.phases: dict[str, tuple[TaskID, int]] = {}

    def phase_start(self, name: str, parent: str | None, steps: int) -> None:
        depth = self.phases[parent][1] + 1 if parent in self.phases else 0
        label = f"{'  ' * depth}{name}" if depth else f"{self.title}: {name}"
        self.phases[name] = (self.bars.add_task(label, total=steps), depth)

    def step_complete(self, name: str, step: int) -> bool:
        """Whether the build may continue."""
        if name in self.phases:
            self.bars.update(self.phases[name][0], completed=step + 1)
        return not self.stopped

    def phase_finish(self, name: str) -> None:
        if name in self.phases:
            self.bars.remove_task(self.phases.pop(name)[0])


@contextmanager
def build_progress(trt: ModuleType, title: str) -> Iterator[BuildProgress]:
    """A progress monitor for TensorRT; an interrupt stops the build and is raised after it.

    Raised at once, it would be lost or crash: the C++ code that calls back handles no exceptions.
    """
    progress: BuildProgress = type("TensorRTProgress", (BuildProgress, trt.IProgressMonitor), {})(
        title
    )

    def stop(_signal: int, _frame: FrameType | None) -> None:
        progress.stopped = True

    with redirect_interrupts(stop), progress.bars:
        yield progress
    if progress.stopped:
        raise KeyboardInterrupt
