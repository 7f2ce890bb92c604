"""The import contracts of pyproject.toml catch what they are there to catch."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("calib", "export", "rankotom_edge", "train")


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", script, "--no-logo", "--no-cache"],
        cwd=root,
        env={"PATH": "", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    for package in PACKAGES:
        only_code = shutil.ignore_patterns("__pycache__", "*.onnx", "*.jpg", "*.npz")
        shutil.copytree(ROOT / package, root / package, ignore=only_code)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def test_imports_point_one_way(copied: Path) -> None:
    done = lint_imports(copied)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("rankotom_edge/live/loop.py", "from train.loop import train"),
        ("rankotom_edge/sources/demo.py", "from rankotom_edge.faces.detector import FaceDetector"),
        ("rankotom_edge/doctor/hardware.py", "import train.data.datasets"),
        ("export/gate.py", "from rankotom_edge.live.loop import watch"),
        ("train/loop.py", "from rankotom_edge.readings.reading import Reading"),
        ("calib/metrics.py", "import rich"),
    ],
)
def test_a_lazy_import_against_the_arrows_is_caught(
    copied: Path, module: str, planted: str
) -> None:
    path = copied / module
    original = path.read_text(encoding="utf-8")
    path.write_text(f"{original}\n\ndef planted() -> None:\n    {planted}\n", encoding="utf-8")
    try:
        done = lint_imports(copied)
    finally:
        path.write_text(original, encoding="utf-8")
    assert done.returncode == 1
    assert module.removesuffix(".py").replace("/", ".") in done.stdout
