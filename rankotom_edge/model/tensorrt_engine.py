"""Runs a TensorRT engine through the same interface as an ONNX Runtime session.

Neither TensorRT nor CUDA is imported before there is an engine to run. All names called exist in
TensorRT 10.3 to 11.4 and cuda-python 12.6 to 13.4 (tests/export/tensorrt/test_names.py checks it).
"""

from __future__ import annotations

import importlib
import math
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.model.artifact import INPUT, Artifact
from rankotom_edge.model.tensorrt_cache import Device, engines_of, find_engine, no_engine

if TYPE_CHECKING:
    import tensorrt

INSTALL = (
    "On a Jetson it comes with JetPack: make the venv with --system-site-packages. "
    "Elsewhere: pip install 'rankotom-edge[tensorrt]'"
)


def open_engine(artifact: Artifact, folder: Path) -> Engine:
    """Loads TensorRT only if there is an engine for it to run."""
    if not engines_of(artifact, folder):
        raise no_engine(artifact, folder)
    return Engine(find_engine(artifact, this_device(), folder))


def this_device() -> Device:
    trt, cuda = load_tensorrt(), load_cuda()
    try:
        check_cuda(cuda, cuda.cudaGetDeviceCount())
        properties = check_cuda(cuda, cuda.cudaGetDeviceProperties(0))
    except RuntimeError as error:
        # cuda-python 12.6 without libcuda.so.1; later versions return error 35.
        raise RankotomError(f"There is no NVIDIA driver here ({error}).") from error
    return Device(str(trt.__version__), properties.name.split(b"\0")[0].decode(errors="replace"))


def load_tensorrt() -> ModuleType:
    try:
        return importlib.import_module("tensorrt")
    except ModuleNotFoundError as error:
        raise RankotomError(f"TensorRT is not installed. {INSTALL}") from error
    except (ImportError, OSError) as error:
        raise RankotomError(
            f"TensorRT is installed but does not load: {error}. {INSTALL}"
        ) from error


def load_cuda() -> ModuleType:
    try:
        return importlib.import_module("cuda.bindings.runtime")
    except ImportError as error:
        raise RankotomError(
            "TensorRT needs cuda-python, of the major version of this machine's CUDA: "
            "pip install 'cuda-python>=12.6.2,<13' (or >=13)"
        ) from error


def check_cuda(cuda: ModuleType, answer: tuple[Any, ...]) -> Any:
    """The value that a call to CUDA returned; its error code is raised in words."""
    error, *values = answer
    if error == cuda.cudaError_t.cudaSuccess:
        return values[0] if values else None
    if error == cuda.cudaError_t.cudaErrorNoDevice:
        raise RankotomError("CUDA finds no GPU here; nvidia-smi should list one.")
    if error == cuda.cudaError_t.cudaErrorInsufficientDriver:
        raise RankotomError(
            "There is no NVIDIA driver here that cuda-python can use: none at all, or one for an "
            "older CUDA (then: pip install 'cuda-python<13')."
        )
    if error == cuda.cudaError_t.cudaErrorMemoryAllocation:
        raise_out_of_memory()
    _, words = cuda.cudaGetErrorString(error)
    raise RankotomError(f"CUDA failed ({error.name}): {words.decode(errors='replace')}.")


def raise_out_of_memory() -> NoReturn:
    raise RankotomError(
        "The GPU's memory is full. Close what else uses it (a Jetson shares it with all programs)."
    )


class ErrorLog:
    """Collects TensorRT's errors, which it would print, so that one line can report them."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []

    def log(self, severity: tensorrt.ILogger.Severity, message: str) -> None:
        if severity.name in ("ERROR", "INTERNAL_ERROR"):
            self.errors.append(" ".join(message.split()))

    def raise_for(self, attempt: str) -> NoReturn:
        if any("out of memory" in error.lower() for error in self.errors):
            raise_out_of_memory()
        raise RankotomError(f"{attempt}: {self.errors[0] if self.errors else 'no reason given'}.")


def make_error_log(trt: ModuleType) -> ErrorLog:
    """The bindings take only subclasses of their own class, which exists only after the import."""
    log: ErrorLog = type("TensorRTErrorLog", (ErrorLog, trt.ILogger), {})()
    return log


class Output(NamedTuple):
    name: str
    shape: tuple[int, ...]  # for the largest batch


class Engine(Closing):
    """Has the methods of an ONNX Runtime session that ``Classifier`` uses. More faces than the
    largest batch that it was built for run in parts."""

    def __init__(self, path: Path) -> None:
        trt, self._cuda = load_tensorrt(), load_cuda()
        self._log = make_error_log(trt)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RankotomError(f"Cannot read the engine {path}: {error.strerror}.") from error
        try:
            runtime: tensorrt.Runtime = trt.Runtime(self._log)
        except TypeError:  # how pybind11 reports a null pointer
            self._log.raise_for(f"TensorRT {trt.__version__} does not start")
        engine: tensorrt.ICudaEngine | None = runtime.deserialize_cuda_engine(content)
        if engine is None:
            self._log.raise_for(
                f"TensorRT does not take the engine {path}; delete it, or build it again"
            )
        context: tensorrt.IExecutionContext | None = engine.create_execution_context()
        if context is None:
            self._log.raise_for(f"TensorRT does not run the engine {path}")
        self._held: list[Any] = [runtime, engine, context]
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        self._types = {name: trt.nptype(engine.get_tensor_dtype(name)) for name in names}
        largest = tuple(engine.get_tensor_profile_shape(INPUT, 0)[-1])
        self._max_batch: int = largest[0]
        with ExitStack() as stack:
            # In reverse order: each needs the one before it.
            for _ in self._held:
                stack.callback(self._held.pop)
            self._stream = check_cuda(self._cuda, self._cuda.cudaStreamCreate())
            stack.callback(self._cuda.cudaStreamDestroy, self._stream)
            context.set_input_shape(INPUT, largest)
            self._shapes = {name: tuple(context.get_tensor_shape(name)) for name in names}
            self._memory = {name: self._allocate(name, stack) for name in names}
            for name, address in self._memory.items():
                context.set_tensor_address(name, address)
            self._resources = stack.pop_all()

    def _allocate(self, name: str, stack: ExitStack) -> int:
        size = math.prod(self._shapes[name]) * np.dtype(self._types[name]).itemsize
        address = check_cuda(self._cuda, self._cuda.cudaMalloc(size))
        stack.callback(self._cuda.cudaFree, address)
        return int(address)

    def get_outputs(self) -> list[Output]:
        return [Output(name, shape) for name, shape in self._shapes.items() if name != INPUT]

    def run(self, outputs: list[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        faces = np.ascontiguousarray(feeds[INPUT])
        starts = range(0, len(faces), self._max_batch)
        parts = [self._run(outputs, faces[start : start + self._max_batch]) for start in starts]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def _run(self, outputs: list[str], faces: NDArray[Any]) -> list[NDArray[Any]]:
        cuda, stream = self._cuda, self._stream
        context: tensorrt.IExecutionContext = self._held[-1]
        to_device = cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
        to_host = cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        status = cuda.cudaMemcpyAsync(
            self._memory[INPUT], faces.ctypes.data, faces.nbytes, to_device, stream
        )
        check_cuda(cuda, status)
        taken = context.set_input_shape(INPUT, faces.shape)
        if not (taken and context.execute_async_v3(int(stream))):
            self._log.raise_for("TensorRT did not run its engine")
        answers = []
        for name in outputs:
            answer = np.empty(tuple(context.get_tensor_shape(name)), self._types[name])
            address = self._memory[name]
            status = cuda.cudaMemcpyAsync(
                answer.ctypes.data, address, answer.nbytes, to_host, stream
            )
            check_cuda(cuda, status)
            answers.append(answer)
        check_cuda(cuda, cuda.cudaStreamSynchronize(stream))
        return answers

    def close(self) -> None:
        self._resources.close()
