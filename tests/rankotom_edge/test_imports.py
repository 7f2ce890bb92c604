"""The live path stays light: it never imports torch, onnx, train or export, and needs no package
that slim.txt leaves out."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import rankotom_edge

FORBIDDEN = {"torch", "onnx", "onnxscript", "train", "export"}

# The command line, which imports train and export where a command needs them.
COMMANDS = ("cli", "__main__", "commands")


def live_modules() -> list[str]:
    package = Path(rankotom_edge.__file__).parent
    files = (file.relative_to(package).with_suffix("") for file in package.rglob("*.py"))
    return sorted(
        ".".join(["rankotom_edge", *file.parts]).removesuffix(".__init__")
        for file in files
        if file.parts[0] not in COMMANDS
    )


def test_the_live_path_imports_neither_torch_nor_onnx_nor_train_nor_export() -> None:
    modules = live_modules()
    assert {
        "rankotom_edge",
        "rankotom_edge.model.classifier",
        "rankotom_edge.model.embedded",
    } <= set(modules)
    script = (
        f"import sys\nimport {', '.join(modules)}\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    loaded = set(finished.stdout.split())
    assert "onnxruntime" in loaded
    assert loaded & FORBIDDEN == set()


def test_a_run_needs_nothing_that_the_slim_install_leaves_out() -> None:
    script = (
        "import sys\n"
        "from rankotom_edge.__main__ import main\n"
        "sys.argv[1:] = 'camera --source demo --view web --port 0 --frames 3'.split()\n"
        "try:\n    main()\n"
        "finally:\n    print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    loaded = done.stdout.rpartition("LOADED")[2].split()
    here = packages_distributions()
    used = {normal(package) for name in loaded for package in here.get(name, [])}
    lines = (Path(__file__).parents[2] / "slim.txt").read_text(encoding="utf-8").splitlines()
    kept = {normal(re.split("[; ]", line)[0]) for line in lines if line and line[0] != "#"}
    assert {"mediapipe", "onnxruntime", "opencv-contrib-python", "uvicorn"} <= used
    # anyio imports sniffio where trio is installed
    assert used - kept <= {"rankotom-edge", "setuptools", "sniffio"}


def normal(package: str) -> str:
    return package.lower().replace("_", "-")
