"""A stand-in for TensorRT and CUDA without a GPU: an engine is its ONNX file, device memory is an
array.

It checks the order and the arguments of our calls, and that all memory is freed; not that NVIDIA's
libraries do the same. ``strangers`` lists its names that the real packages lack.
"""

import ctypes
import enum
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import onnx

from rankotom_edge.model.onnx_runtime import open_session

HERE = Path(__file__).parent
PLAN = b"plan of "


def names_of(file):
    """The lists of collect.py: a class and its members, or a name alone."""
    found = {}
    for line in (HERE / file).read_text().splitlines():
        name, _, members = line.partition(":")
        found[name] = set(members.split())
    return found


def strangers(module, file):
    """Public names of a stand-in that the real package does not have."""
    known = names_of(file)
    for name, member in vars(module).items():
        if name.startswith("_"):
            continue
        if name not in known:
            yield name
        elif isinstance(member, type):
            yield from (
                f"{name}.{each}"
                for each in vars(member)
                if not each.startswith("_") and each not in known[name]
            )


CudaError = enum.IntEnum(
    "cudaError_t",
    {
        "cudaSuccess": 0,
        "cudaErrorMemoryAllocation": 2,
        "cudaErrorInsufficientDriver": 35,
        "cudaErrorNoDevice": 100,
        "cudaErrorIllegalAddress": 700,
    },
)
CopyKind = enum.IntEnum(
    "cudaMemcpyKind", {"cudaMemcpyHostToDevice": 1, "cudaMemcpyDeviceToHost": 2}
)


class Gpu:
    """``room``: bytes of memory. ``error``: what CUDA answers when asked for devices."""

    def __init__(self, name="Orin", room=1 << 30, error=CudaError.cudaSuccess):
        self.name, self.room, self.error = name, room, error
        self.memory, self.streams = {}, set()

    def malloc(self, size):
        if sum(block.nbytes for block in self.memory.values()) + size > self.room:
            return CudaError.cudaErrorMemoryAllocation, None
        block = np.zeros(size, np.uint8)
        self.memory[block.ctypes.data] = block
        return CudaError.cudaSuccess, block.ctypes.data

    def free(self, address):
        del self.memory[address]
        return (CudaError.cudaSuccess,)

    def copy(self, target, source, size, kind, stream):
        inwards = kind is CopyKind.cudaMemcpyHostToDevice
        block = self.memory.get(target if inwards else source)
        if stream not in self.streams or block is None or block.nbytes < size:
            return (CudaError.cudaErrorIllegalAddress,)
        ctypes.memmove(target, source, size)
        return (CudaError.cudaSuccess,)

    def create_stream(self):
        stream = 7 + len(self.streams)
        self.streams.add(stream)
        return CudaError.cudaSuccess, stream

    def destroy_stream(self, stream):
        self.streams.remove(stream)
        return (CudaError.cudaSuccess,)

    def cuda(self):
        module = ModuleType("cuda.bindings.runtime")
        module.cudaError_t, module.cudaMemcpyKind = CudaError, CopyKind
        module.cudaGetDeviceCount = lambda: (self.error, None if self.error else 1)
        module.cudaGetDeviceProperties = lambda device: (
            self.error,
            SimpleNamespace(name=self.name.encode() + b"\0\0"),
        )
        module.cudaGetErrorString = lambda error: (CudaError.cudaSuccess, b"an illegal address")
        module.cudaMalloc, module.cudaFree = self.malloc, self.free
        module.cudaStreamCreate, module.cudaStreamDestroy = self.create_stream, self.destroy_stream
        module.cudaStreamSynchronize = lambda stream: (CudaError.cudaSuccess,)
        module.cudaMemcpyAsync = self.copy
        return module


def tensorrt(
    gpu,
    version="10.3.0",
    *,
    parser_errors=(),
    build_error=None,
    starts=True,
    interrupted_by=None,
    answers=lambda arrays: arrays,
):
    module = ModuleType("tensorrt")
    module.__version__ = version
    module._seen = SimpleNamespace()  # for a test to look at

    class Severity(enum.Enum):
        INTERNAL_ERROR = 0
        ERROR = 1
        WARNING = 2

    class ILogger:
        pass

    ILogger.Severity = Severity

    class Started:
        def __init__(self, logger):
            assert isinstance(logger, ILogger)
            self._logger = logger
            if not starts:
                raise TypeError("pybind11::init(): factory function returned nullptr")

    class Strict:
        """As with pybind11, an attribute that is not there cannot be set."""

        def __setattr__(self, name, value):
            if not name.startswith("_") and not hasattr(type(self), name):
                raise AttributeError(name)
            super().__setattr__(name, value)

    class IProgressMonitor:
        pass

    class NetworkDefinitionCreationFlag(enum.IntEnum):
        STRONGLY_TYPED = 1

    class BuilderFlag(enum.Enum):
        TF32 = 7

    class MemoryPoolType(enum.Enum):
        WORKSPACE = 0

    class INetworkDefinition:
        def __init__(self, flags):
            self._flags, self._content = flags, b""

    class IOptimizationProfile:
        def set_shape(self, input, min, opt, max):
            self._shapes = (input, min, opt, max)

    class ITimingCache:
        def __init__(self, content):
            self._content = content

        def serialize(self):
            return memoryview(self._content + b"timed ")

    class IBuilderConfig(Strict):
        progress_monitor = None

        def __init__(self):
            self._cleared, self._profiles, self._cache, self._pool = [], [], None, {}

        def set_memory_pool_limit(self, pool, pool_size):
            self._pool[pool] = pool_size

        def clear_flag(self, flag):
            self._cleared.append(flag)

        def add_optimization_profile(self, profile):
            self._profiles.append(profile)
            return 0

        def create_timing_cache(self, serialized_timing_cache):
            return ITimingCache(bytes(serialized_timing_cache))

        def set_timing_cache(self, cache, ignore_mismatch):
            if b"other device" in cache._content and not ignore_mismatch:
                return False
            self._cache = cache
            return True

        def get_timing_cache(self):
            return self._cache

    class ParserError:
        def __init__(self, operator, node, words):
            self._operator, self._node, self._words = operator, node, words

        def node_operator(self):
            return self._operator

        def node_name(self):
            return self._node

        def desc(self):
            return self._words

    class OnnxParser:
        def __init__(self, network, logger):
            assert isinstance(logger, ILogger)
            self._network = network

        def parse(self, model):
            self._network._content = bytes(model)
            return not parser_errors

        @property
        def num_errors(self):
            return len(parser_errors)

        def get_error(self, index):
            return ParserError(*parser_errors[index])

    class Builder(Started):
        def create_network(self, flags=0):
            return INetworkDefinition(flags)

        def create_builder_config(self):
            return IBuilderConfig()

        def create_optimization_profile(self):
            return IOptimizationProfile()

        def build_serialized_network(self, network, config):
            module._seen.network, module._seen.config = network, config
            monitor = config.progress_monitor
            assert isinstance(monitor, IProgressMonitor)
            monitor.phase_start("Building", None, 2)
            monitor.phase_start("Timing", "Building", 3)
            if interrupted_by is not None:
                os.kill(os.getpid(), interrupted_by)
            goes_on = all(monitor.step_complete("Timing", step) for step in range(3))
            monitor.phase_finish("Timing")
            monitor.phase_finish("Building")
            if build_error is not None:
                self._logger.log(Severity.WARNING, "this is nothing")
                self._logger.log(Severity.ERROR, build_error)
            if build_error is not None or not goes_on:
                return None
            return memoryview(PLAN + network._content)

    class Runtime(Started):
        def deserialize_cuda_engine(self, serialized_engine):
            if not serialized_engine.startswith(PLAN):
                self._logger.log(Severity.ERROR, "magicTag does not match\n at line 7")
                return None
            return ICudaEngine(serialized_engine.removeprefix(PLAN))

    class ICudaEngine:
        def __init__(self, content):
            self._session = open_session(content)
            graph = onnx.load_from_string(content).graph
            self._shapes = {
                each.name: tuple(held.dim_value or -1 for held in each.type.tensor_type.shape.dim)
                for each in (*graph.input, *graph.output)
            }

        def create_execution_context(self):
            return IExecutionContext(self)

        @property
        def num_io_tensors(self):
            return len(self._shapes)

        def get_tensor_name(self, index):
            return list(self._shapes)[index]

        def get_tensor_dtype(self, name):
            return "uint8" if name == "faces" else "float32"

        def get_tensor_profile_shape(self, name, profile_index):
            return [(faces, *self._shapes[name][1:]) for faces in (1, 2, 16)]

    class IExecutionContext:
        def __init__(self, engine):
            self._engine, self._addresses, self._shape = engine, {}, ()

        def set_input_shape(self, name, shape):
            self._shape = tuple(shape)
            return 1 <= self._shape[0] <= 16

        def get_tensor_shape(self, name):
            return (self._shape[0], *self._engine._shapes[name][1:])

        def set_tensor_address(self, name, memory):
            self._addresses[name] = memory
            return True

        def execute_async_v3(self, stream_handle):
            assert stream_handle in {int(stream) for stream in gpu.streams}
            assert set(self._addresses) == set(self._engine._shapes)
            block = gpu.memory[self._addresses["faces"]]
            faces = block[: np.prod(self._shape)].reshape(self._shape)
            outputs = [name for name in self._engine._shapes if name != "faces"]
            arrays = self._engine._session.run(outputs, {"faces": faces})
            for name, array in zip(outputs, answers(arrays), strict=True):
                written = array.astype(np.float32).tobytes()
                ctypes.memmove(self._addresses[name], written, len(written))
            return True

    module.nptype = {"uint8": np.uint8, "float32": np.float32}.__getitem__
    for each in (
        ILogger, IProgressMonitor, NetworkDefinitionCreationFlag, BuilderFlag, MemoryPoolType,
        INetworkDefinition, IOptimizationProfile, ITimingCache, IBuilderConfig, ParserError,
        OnnxParser, Builder, Runtime, ICudaEngine, IExecutionContext,
    ):  # fmt: skip
        setattr(module, each.__name__, each)
    return module


def install(monkeypatch, gpu=None, **how):
    """Both in place of the real ones; the module, and the GPU to look at."""
    gpu = gpu or Gpu()
    module = tensorrt(gpu, **how)
    monkeypatch.setitem(sys.modules, "tensorrt", module)
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", gpu.cuda())
    return module, gpu
