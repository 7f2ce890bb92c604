"""A TensorRT engine: the cache of one model file on one device, found by its key and run there.

Neither TensorRT nor CUDA is imported before an engine is there to be run. They are called by names
that TensorRT 10.3 to 11.4 and cuda-python 12.6 to 13.4 all have; a test holds that line.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.model.artifact import INPUT, Artifact
from rankotom_edge.model.embedded import INT8_S8S8

if TYPE_CHECKING:
    import tensorrt

ENGINES = Path("~/.cache/rankotom-edge/engines")
SUFFIX = ".engine"
# Between the parts of a file name; quote() escapes it inside them.
BETWEEN = "+"
# A GPU's name may have 255 bytes, and each may become three characters.
LONGEST_PART = 100

INSTALL = (
    "On a Jetson it comes with JetPack: make the venv with --system-site-packages. "
    "Elsewhere: pip install 'rankotom-edge[tensorrt]'"
)


@dataclass(frozen=True)
class Device:
    tensorrt: str  # its version
    gpu: str

    def __str__(self) -> str:
        return f"TensorRT {self.tensorrt} on {self.gpu}"


@dataclass(frozen=True)
class EngineKey:
    """All that an engine depends on: with another of any of these it must be built again."""

    model_sha256: str
    tensorrt: str
    gpu: str
    precision: str

    @property
    def file_name(self) -> str:
        parts = (self.model_sha256, self.precision, self.tensorrt, self.gpu)
        return BETWEEN.join(map(_safe, parts)) + SUFFIX


def key_for(artifact: Artifact, device: Device) -> EngineKey:
    return EngineKey(artifact.sha256, device.tensorrt, device.gpu, artifact.card.precision)


def engines_folder(given: Path | None = None) -> Path:
    return (given or ENGINES).expanduser()


def engine_path(key: EngineKey, folder: Path) -> Path:
    return folder / key.file_name


def timing_path(device: Device, folder: Path) -> Path:
    """Where a build keeps what it timed, to the gain of the next one on the same device."""
    return folder / f"timing{BETWEEN}{_safe(device.tensorrt)}{BETWEEN}{_safe(device.gpu)}.cache"


def engines_of(artifact: Artifact, folder: Path) -> tuple[Path, ...]:
    """Engines of this very file, for whatever device."""
    others = BETWEEN.join("***")
    return tuple(sorted(folder.glob(f"{_safe(artifact.sha256)}{BETWEEN}{others}{SUFFIX}")))


def any_engines(folder: Path) -> bool:
    """Of this model file or another, such as an older one of the same name."""
    return any(folder.glob(f"*{SUFFIX}"))


def find_engine(artifact: Artifact, device: Device, folder: Path) -> Path:
    """The engine of this file for this device; else an error that says what is there instead."""
    path = engine_path(key_for(artifact, device), folder)
    if path.is_file():
        return path
    stale = ", ".join(str(_built_for(found)) for found in engines_of(artifact, folder))
    if stale:
        raise RankotomError(
            f"The TensorRT engine of {artifact.card.name} is stale: built for {stale}; this is "
            f"{device} ({how_to_build(artifact)})."
        )
    raise RankotomError(_no_engine(artifact, folder))


def open_engine(artifact: Artifact, folder: Path) -> Engine:
    """Asks for TensorRT only where there is an engine for it to run."""
    if not engines_of(artifact, folder):
        raise RankotomError(_no_engine(artifact, folder))
    return Engine(find_engine(artifact, this_device(), folder))


def how_to_build(artifact: Artifact) -> str:
    card = artifact.card
    if card.precision == "int8" and "tensorrt" not in card.targets:
        way = (
            f"rankotom-edge export --tensorrt, then camera --model {INT8_S8S8}"
            if artifact.embedded
            else "rankotom-edge export --int8 --tensorrt, of its FP32 parent"
        )
        return f"TensorRT takes no file that is made for {' and '.join(card.targets)}: {way}"
    return f"to build it: rankotom-edge export --tensorrt {artifact.spoken_name}"


def _no_engine(artifact: Artifact, folder: Path) -> str:
    others = len(list(folder.glob(f"*{SUFFIX}")))
    beside = f" as it is now; those in {folder} are of other model files" if others else ""
    named = f"{artifact.card.name}{beside}"
    return f"There is no TensorRT engine of {named} ({how_to_build(artifact)})."


def _built_for(path: Path) -> Device:
    _, _, version, gpu = path.name.removesuffix(SUFFIX).split(BETWEEN)
    return Device(unquote(version), unquote(gpu))


def _safe(part: str) -> str:
    """As part of a file name, on any file system; other parts give other names."""
    quoted = quote(part, safe="")
    if len(quoted) <= LONGEST_PART:
        return quoted
    digest = hashlib.sha256(part.encode()).hexdigest()[:16]
    return f"{quoted[: LONGEST_PART - len(digest)]}{digest}"


def this_device() -> Device:
    trt, cuda = load_tensorrt(), load_cuda()
    try:
        checked(cuda, cuda.cudaGetDeviceCount())
        properties = checked(cuda, cuda.cudaGetDeviceProperties(0))
    except RuntimeError as error:
        # cuda-python 12.6, where there is no libcuda.so.1; later ones answer error 35.
        raise RankotomError(f"There is no NVIDIA driver here ({error}).") from error
    return Device(str(trt.__version__), properties.name.split(b"\0")[0].decode(errors="replace"))


def load_tensorrt() -> ModuleType:
    try:
        return importlib.import_module("tensorrt")
    except ModuleNotFoundError as error:
        raise RankotomError(f"TensorRT is not installed. {INSTALL}") from error
    except (ImportError, OSError) as error:
        raise RankotomError(f"TensorRT is here and does not load: {error}. {INSTALL}") from error


def load_cuda() -> ModuleType:
    try:
        return importlib.import_module("cuda.bindings.runtime")
    except ImportError as error:
        raise RankotomError(
            "TensorRT needs cuda-python, of the major version of this machine's CUDA: "
            "pip install 'cuda-python>=12.6.2,<13' (or >=13)"
        ) from error


def checked(cuda: ModuleType, answer: tuple[Any, ...]) -> Any:
    """What a call to CUDA gave beside its error, which is told in words."""
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
        out_of_memory()
    _, words = cuda.cudaGetErrorString(error)
    raise RankotomError(f"CUDA failed ({error.name}): {words.decode(errors='replace')}.")


def out_of_memory() -> NoReturn:
    raise RankotomError(
        "The GPU's memory is full. Close what else uses it (a Jetson shares it with all programs)."
    )


class Complaints:
    """TensorRT's errors, kept to be told in one line where it would print them."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []

    def log(self, severity: tensorrt.ILogger.Severity, message: str) -> None:
        if severity.name in ("ERROR", "INTERNAL_ERROR"):
            self.errors.append(" ".join(message.split()))

    def raise_for(self, attempt: str) -> NoReturn:
        if any("out of memory" in error.lower() for error in self.errors):
            out_of_memory()
        raise RankotomError(f"{attempt}: {self.errors[0] if self.errors else 'no reason given'}.")


def complaints(trt: ModuleType) -> Complaints:
    """The bindings take only heirs of a class of theirs, which is not there before the import."""
    kept: Complaints = type("TensorRTComplaints", (Complaints, trt.ILogger), {})()
    return kept


class Output(NamedTuple):
    name: str
    shape: tuple[int, ...]  # for as many faces as it takes at once


class Engine(Closing):
    """Runs like a session of ONNX Runtime; more faces at once than it was built for, in parts."""

    def __init__(self, path: Path) -> None:
        trt, self._cuda = load_tensorrt(), load_cuda()
        self._log = complaints(trt)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise RankotomError(f"Cannot read the engine {path}: {error.strerror}.") from error
        try:
            runtime: tensorrt.Runtime = trt.Runtime(self._log)
        except TypeError:  # pybind11's word for a null pointer
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
        self._most_faces: int = largest[0]
        with ExitStack() as stack:
            # The last first: each needs the one before it.
            for _ in self._held:
                stack.callback(self._held.pop)
            self._stream = checked(self._cuda, self._cuda.cudaStreamCreate())
            stack.callback(self._cuda.cudaStreamDestroy, self._stream)
            context.set_input_shape(INPUT, largest)
            self._shapes = {name: tuple(context.get_tensor_shape(name)) for name in names}
            self._memory = {name: self._room_for(name, stack) for name in names}
            for name, address in self._memory.items():
                context.set_tensor_address(name, address)
            self._resources = stack.pop_all()

    def _room_for(self, name: str, stack: ExitStack) -> int:
        size = math.prod(self._shapes[name]) * np.dtype(self._types[name]).itemsize
        address = checked(self._cuda, self._cuda.cudaMalloc(size))
        stack.callback(self._cuda.cudaFree, address)
        return int(address)

    def get_outputs(self) -> list[Output]:
        return [Output(name, shape) for name, shape in self._shapes.items() if name != INPUT]

    def run(self, outputs: list[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        faces = np.ascontiguousarray(feeds[INPUT])
        starts = range(0, len(faces), self._most_faces)
        parts = [self._run(outputs, faces[start : start + self._most_faces]) for start in starts]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def _run(self, outputs: list[str], faces: NDArray[Any]) -> list[NDArray[Any]]:
        cuda, stream = self._cuda, self._stream
        context: tensorrt.IExecutionContext = self._held[-1]
        inwards = cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
        outwards = cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        copied = cuda.cudaMemcpyAsync(
            self._memory[INPUT], faces.ctypes.data, faces.nbytes, inwards, stream
        )
        checked(cuda, copied)
        taken = context.set_input_shape(INPUT, faces.shape)
        if not (taken and context.execute_async_v3(int(stream))):
            self._log.raise_for("TensorRT did not run its engine")
        answers = []
        for name in outputs:
            answer = np.empty(tuple(context.get_tensor_shape(name)), self._types[name])
            address = self._memory[name]
            copied = cuda.cudaMemcpyAsync(
                answer.ctypes.data, address, answer.nbytes, outwards, stream
            )
            checked(cuda, copied)
            answers.append(answer)
        checked(cuda, cuda.cudaStreamSynchronize(stream))
        return answers

    def close(self) -> None:
        self._resources.close()
