"""Each name that we call is in every version of TensorRT and cuda-python that we support.

The lists in ``names/`` are of NVIDIA's real packages; ``names/collect.py`` made them.
"""

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import export.tensorrt.build
import rankotom_edge.model.tensorrt_engine

HERE = Path(__file__).parent / "names"
stand_in = SimpleNamespace(**runpy.run_path(str(HERE / "stand_in.py")))

TENSORRT = sorted(path.name for path in HERE.glob("tensorrt-*.txt"))
CUDA = sorted(path.name for path in HERE.glob("cuda-*.txt"))
OURS = [
    Path(str(module.__file__)).read_text()
    for module in (rankotom_edge.model.tensorrt_engine, export.tensorrt.build)
]


def called(kind: str, sources: list[str] = OURS) -> set[str]:
    """``BuilderFlag.TF32`` for ``trt.BuilderFlag.TF32``, and ``Builder.create_network`` for a call
    on what the function annotates as ``tensorrt.Builder``; of ``cuda`` likewise."""
    functions = (
        node
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    )
    names = set()
    for function in functions:
        classes = dict(annotated(function))
        names |= {name for name in classes.values() if kind == "trt"}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute):
                owner, _, member = ast.unparse(node).removeprefix("self._").rpartition(".")
                if owner.partition(".")[0] == kind:
                    names.add(f"{owner}.{member}".removeprefix(f"{kind}."))
                elif kind == "trt" and owner in classes:
                    names.add(f"{classes[owner]}.{member}")
    return names


def annotated(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            name = node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)
            for part in ast.unparse(node.annotation).split(" | "):
                if part.startswith("tensorrt."):
                    yield name, part.removeprefix("tensorrt.")


def missing(called: set[str], file: str) -> Iterator[str]:
    known = stand_in.names_of(file)
    for name in sorted(called - {"__version__"}):
        owner, _, member = name.rpartition(".")
        if name not in known and member not in known.get(owner, ()):
            yield name


def test_there_are_lists_of_the_versions_that_we_support() -> None:
    assert TENSORRT == [
        "tensorrt-10.16.1.11.txt",
        "tensorrt-10.3.0.txt",
        "tensorrt-11.4.0.106.txt",
    ]
    assert CUDA == ["cuda-12.6.2.txt", "cuda-12.9.10.txt", "cuda-13.4.4.txt"]


@pytest.mark.parametrize("file", TENSORRT)
def test_every_name_of_tensorrt_is_in_it(file: str) -> None:
    names = called("trt")
    assert list(missing(names, file)) == []
    assert {
        "NetworkDefinitionCreationFlag.STRONGLY_TYPED",
        "IBuilderConfig.progress_monitor",
        "IExecutionContext.execute_async_v3",
        "ICudaEngine.num_io_tensors",
        "ILogger.Severity.name",
        "nptype",
    } <= names


@pytest.mark.parametrize("file", CUDA)
def test_every_name_of_cuda_is_in_it(file: str) -> None:
    names = called("cuda")
    assert list(missing(names, file)) == []
    assert {"cudaMemcpyAsync", "cudaError_t.cudaErrorNoDevice", "cudaFree"} <= names


def test_names_that_tensorrt_11_removed_are_caught() -> None:
    source = """
def build(config: tensorrt.IBuilderConfig):
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = trt.IInt8EntropyCalibrator2()
    trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH
    engine: tensorrt.ICudaEngine | None = None
    engine.num_bindings
"""
    names = called("trt", [source])
    assert list(missing(names, "tensorrt-10.3.0.txt")) == ["ICudaEngine.num_bindings"]
    assert list(missing(names, "tensorrt-11.4.0.106.txt")) == [
        "BuilderFlag.INT8",
        "IBuilderConfig.int8_calibrator",
        "ICudaEngine.num_bindings",
        "IInt8EntropyCalibrator2",
        "NetworkDefinitionCreationFlag.EXPLICIT_BATCH",
    ]


@pytest.mark.parametrize("file", TENSORRT + CUDA)
def test_the_stand_in_of_the_other_tests_has_no_made_up_names(file: str) -> None:
    gpu = stand_in.Gpu()
    module = stand_in.tensorrt(gpu) if file in TENSORRT else gpu.cuda()
    assert list(stand_in.strangers(module, file)) == []
    module.IInt8MadeUp = None
    assert list(stand_in.strangers(module, file)) == ["IInt8MadeUp"]
