"""Opens ONNX Runtime sessions. No other module imports ONNX Runtime, because telemetry must be
switched off first.

From 1.29 on it looks up a telemetry host and writes a device id into the user's cache, unless
``ORT_DISABLE_TELEMETRY`` is set before the import; its own switch comes too late.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as state

from calib.errors import RankotomError
from calib.input_files import MEGABYTE, read_input
from rankotom_edge.model.memory_limit import limit_memory

InferenceSession: TypeAlias = onnxruntime.InferenceSession
Provider = Literal["cpu", "cuda", "tensorrt"]

PROVIDERS: dict[Provider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}

# Its errors are raised too; printed, they would be a second message, in colours.
SILENT = 4
MOST_BYTES = 512 * MEGABYTE  # of a model file; a ResNet-50 has 94 MB
# To load a model and to read a first face: ten times what a ResNet-50 takes. A thread has a stack.
MOST_MEMORY, THREAD_MEMORY = 1024 * MEGABYTE, 8 * MEGABYTE
MOST_THREADS = 64
LONGEST_RUN = 30.0  # CPU seconds for a first face; the embedded models take 0.01. By eye
WATCH_SECONDS = 0.5  # how often they are looked at
# These exceptions share no base class.
REFUSALS = (
    state.Fail,
    state.InvalidArgument,
    state.InvalidGraph,
    state.InvalidProtobuf,
    state.NotImplemented,
    state.RuntimeException,
    MemoryError,
)

onnxruntime.set_default_logger_severity(SILENT)


def providers_here() -> tuple[Provider, ...]:
    """The providers of this build of ONNX Runtime; whether one works, only a run can tell."""
    built = onnxruntime.get_available_providers()
    return tuple(name for name, provider in PROVIDERS.items() if provider in built)


def open_session(
    model: Path | bytes, threads: int = 1, optimise: bool = True, provider: Provider = "cpu"
) -> InferenceSession:
    """Operators that ``provider`` cannot run fall back to CUDA (from TensorRT) or to the CPU.

    One thread by default: `rankotom-edge bench` prints what more would gain. Threads do not spin
    between frames: a waiting thread must not drain the battery.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    here = providers_here()
    content = model if isinstance(model, bytes) else read_input(model, MOST_BYTES)
    helpers = ("cuda", "cpu") if provider == "tensorrt" else ("cpu",)
    order = [PROVIDERS[name] for name in dict.fromkeys((provider, *helpers)) if name in here]
    try:
        with model_memory(provider, threads):
            return InferenceSession(content, options, providers=order)
    except REFUSALS as error:
        named = "The model" if isinstance(model, bytes) else str(model)
        raise RankotomError(
            f"{named} is not a whole ONNX file, or one that ONNX Runtime {onnxruntime.__version__} "
            f"cannot run: {first_line(error)}"
        ) from error


def model_memory(provider: Provider, threads: int) -> AbstractContextManager[None]:
    """Around what a model file does for the first time. A GPU's driver maps far more than it uses,
    so there is no limit with one."""
    if provider != "cpu":
        return nullcontext()
    return limit_memory(MOST_MEMORY + threads * THREAD_MEMORY)


def try_session(
    session: InferenceSession, outputs: Sequence[str], feeds: Mapping[str, NDArray[Any]]
) -> list[NDArray[Any]]:
    """A first run on the CPU, with limits to its time and memory: who made the file is unknown.

    CPU time, because on a machine that is busy or emulated a good model may wait for long.
    """
    options, ended = onnxruntime.RunOptions(), threading.Event()
    threading.Thread(target=_stop_late_run, args=(options, ended), daemon=True).start()
    try:
        with model_memory("cpu", threads=1):
            return run_session(session, outputs, feeds, options)
    finally:
        ended.set()


def _stop_late_run(options: onnxruntime.RunOptions, ended: threading.Event) -> None:
    latest = time.process_time() + LONGEST_RUN
    while not ended.wait(WATCH_SECONDS):
        if time.process_time() > latest:
            options.terminate = True


class Session(Protocol):
    @property
    def run(self) -> Callable[..., list[NDArray[Any]]]: ...


def run_session(
    session: Session,
    outputs: Sequence[str],
    feeds: Mapping[str, NDArray[Any]],
    *options: onnxruntime.RunOptions,
) -> list[NDArray[Any]]:
    """The outputs, each with a row of finite numbers for every face: checked here, once, for all
    that runs a model. ONNX Runtime takes the shapes that a graph declares as hints."""
    (faces,) = (len(given) for given in feeds.values())
    try:
        answers = session.run(list(outputs), dict(feeds), *options)
    except REFUSALS as error:
        raise RankotomError(f"The model does not run: {first_line(error)}") from error
    for name, answer in zip(outputs, answers, strict=True):
        if answer.ndim == 0 or len(answer) != faces:
            raise RankotomError(
                f"The model answers {faces} faces with {name} of the shape {answer.shape}, not "
                "with a row for each. It is damaged, or no model of ours."
            )
        if not np.isfinite(answer).all():
            raise RankotomError(
                f"The model answers with {name} that are not finite numbers. It is damaged, or "
                "fails on this machine; rankotom-edge doctor tries the embedded ones."
            )
    return answers


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
