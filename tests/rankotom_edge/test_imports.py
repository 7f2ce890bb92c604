"""The live path stays light: it never imports torch, onnx, train or export."""

import subprocess
import sys
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
