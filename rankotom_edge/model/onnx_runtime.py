"""The one place that imports ONNX Runtime, because it must be told first not to call out.

From 1.29 on it looks up an events host and leaves a device id in the user's cache, unless
``ORT_DISABLE_TELEMETRY`` is set before the import; its own switch comes too late.
"""

import os
from pathlib import Path
from typing import Literal, TypeAlias

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from calib.errors import RankotomError

InferenceSession: TypeAlias = onnxruntime.InferenceSession
Provider = Literal["cpu", "cuda", "tensorrt"]

PROVIDERS: dict[Provider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}

ERRORS_ONLY = 3
# Each is an Exception of its own; they share no base class.
REFUSALS = (
    state.Fail,
    state.InvalidArgument,
    state.InvalidGraph,
    state.InvalidProtobuf,
    state.NotImplemented,
    state.RuntimeException,
)

onnxruntime.set_default_logger_severity(ERRORS_ONLY)


def providers_here() -> tuple[Provider, ...]:
    """What this build of ONNX Runtime can be asked for; whether it works, only a try can tell."""
    built = onnxruntime.get_available_providers()
    return tuple(name for name, provider in PROVIDERS.items() if provider in built)


def open_session(
    model: Path | bytes, threads: int = 1, optimise: bool = True, provider: Provider = "cpu"
) -> InferenceSession:
    """A model, ready to run; what ``provider`` cannot run, the CPU does, or the GPU's other one.

    One thread: with a busy neighbour two were slower in every case that was measured. No spinning
    between frames: a waiting thread must not burn the battery.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    here = providers_here()
    source = model if isinstance(model, bytes) else str(model)
    helpers = ("cuda", "cpu") if provider == "tensorrt" else ("cpu",)
    order = [PROVIDERS[name] for name in dict.fromkeys((provider, *helpers)) if name in here]
    try:
        return InferenceSession(source, options, providers=order)
    except REFUSALS as error:
        named = "The model" if isinstance(model, bytes) else str(model)
        raise RankotomError(
            f"{named} is not a whole ONNX file, or one that ONNX Runtime {onnxruntime.__version__} "
            f"cannot run: {str(error).strip().splitlines()[0]}"
        ) from error
