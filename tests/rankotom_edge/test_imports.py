"""The live path stays light: it never imports torch, onnx, train or export."""

import subprocess
import sys

FORBIDDEN = {"torch", "onnx", "onnxscript", "train", "export"}


def test_the_live_path_imports_neither_torch_nor_onnx_nor_train_nor_export() -> None:
    script = (
        "import sys\n"
        "import rankotom_edge.artifact, rankotom_edge.classifier\n"
        "import rankotom_edge.crop, rankotom_edge.faces\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    loaded = set(finished.stdout.split())
    assert "onnxruntime" in loaded
    assert loaded & FORBIDDEN == set()
