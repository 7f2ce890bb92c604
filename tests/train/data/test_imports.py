"""train/data serves export as well, which has no torch."""

import subprocess
import sys
from pathlib import Path

import train.data


def test_train_data_imports_neither_torch_nor_the_rest_of_train() -> None:
    folder = Path(train.data.__file__).parent
    modules = [f"train.data.{file.stem}" for file in folder.glob("*.py")]
    assert "train.data.crops" in modules
    script = f"import sys\nimport {', '.join(modules)}\nprint(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(finished.stdout.split())
    assert "torch" not in loaded
    ours = {name for name in loaded if name.startswith("train.")}
    assert all(name == "train.data" or name.startswith("train.data.") for name in ours)
