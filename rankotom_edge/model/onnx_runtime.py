"""Opens ONNX Runtime sessions. No other module imports ONNX Runtime, because telemetry must be
switched off first.

From 1.29 on it looks up a telemetry host and writes a device id into the user's cache, unless
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
# These exceptions share no base class.
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
