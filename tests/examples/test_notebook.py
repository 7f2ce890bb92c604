import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "notebook.py"


def test_the_notebook_tells_who_smiled(desk: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=desk, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "happiness" in done.stdout
    assert "FaceReading(track=1" in done.stdout
