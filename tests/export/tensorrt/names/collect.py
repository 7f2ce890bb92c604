"""The public names of NVIDIA's real packages, for a test that holds our calls to them.

Neither a GPU nor TensorRT's libraries are needed, only gcc and a Python of the wheel's version: the
bindings load over empty libraries that define the symbols they ask for.

    pip download --no-deps --dest /tmp/wheels tensorrt_cu12_bindings==10.3.0
    python collect.py /tmp/wheels/tensorrt_cu12_bindings-10.3.0-*.whl > tensorrt-10.3.0.txt

For cuda-python, from an environment that has it and nothing else:

    python collect.py cuda > cuda-12.9.txt
"""

import enum
import importlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

LIBRARIES = ("libnvinfer", "libnvinfer_plugin", "libnvonnxparser")
SYMBOLS = (
    "createInferBuilder_INTERNAL",
    "createInferRefitter_INTERNAL",
    "createInferRuntime_INTERNAL",
    "createNvOnnxParserRefitter_INTERNAL",
    "createNvOnnxParser_INTERNAL",
    "getBuilderPluginRegistry",
    "getNvOnnxParserVersion",
    "getPluginRegistry",
    "initLibNvInferPlugins",
)
# Of the thousands in CUDA's runtime: its functions, and the types whose members are ours to name.
CUDA_TYPES = ("cudaError_t", "cudaMemcpyKind", "cudaDeviceProp")


def unpack_over_empty_libraries(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    source = folder / "empty.c"
    source.write_text("".join(f"void *{symbol}(void) {{ return 0; }}\n" for symbol in SYMBOLS))
    (major,) = re.findall(r"bindings-(\d+)", wheel.name)
    for library in LIBRARIES:
        target = folder / f"{library}.so.{major}"
        command = ["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{target.name}"]
        subprocess.run([*command, "-o", target, source], check=True)


def public(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("_"))


def lines(holder: object, prefix: str = "") -> Iterator[str]:
    """``Class: its members``, or a name alone; a class inside a class has a line of its own."""
    for name in public(dir(holder)):
        member = getattr(holder, name, None)
        if isinstance(member, type):
            yield " ".join([f"{prefix}{name}:", *public(dir(member))])
            if not prefix:
                yield from (line for line in lines(member, f"{name}.") if ":" in line)
        else:
            yield f"{prefix}{name}"


def cuda_lines() -> Iterator[str]:
    runtime = importlib.import_module("cuda.bindings.runtime")
    for name in sorted(dir(runtime)):
        member = getattr(runtime, name)
        if name in CUDA_TYPES:
            enumerated = isinstance(member, enum.EnumMeta)
            members = member.__members__ if enumerated else dir(member)
            yield " ".join([f"{name}:", *public(members)])
        elif re.match(r"cuda[A-Z]", name) and callable(member) and not isinstance(member, type):
            yield name


def main(wanted: str) -> None:
    if wanted == "cuda":
        print(*cuda_lines(), sep="\n")
    elif wanted.endswith(".whl"):
        with tempfile.TemporaryDirectory() as folder:
            unpack_over_empty_libraries(Path(wanted), Path(folder))
            found = {"LD_LIBRARY_PATH": folder, "PYTHONPATH": folder}
            command = [sys.executable, __file__, "tensorrt_bindings"]
            subprocess.run(command, env={**os.environ, **found}, check=True)
    else:
        print(*lines(importlib.import_module(wanted)), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
