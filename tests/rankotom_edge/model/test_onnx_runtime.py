"""ONNX Runtime runs without calling out, and leaves nothing in the user's home."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rankotom_edge.model.artifact import Artifact

if TYPE_CHECKING:
    from conftest import Watch

CLASSIFY = """
import os, sys
import numpy as np
from pathlib import Path
from rankotom_edge.model.artifact import read_artifact
from rankotom_edge.model.classifier import Classifier
classifier = Classifier(read_artifact(Path(sys.argv[1])))
print(classifier.classify(np.zeros((1, 1, 32, 32), np.uint8)).probabilities.shape)
"""


def classify(artifact: Artifact, home: Path, *wrapper: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    return subprocess.run(
        [*wrapper, sys.executable, "-c", CLASSIFY, str(artifact.path)],
        capture_output=True,
        text=True,
        env={**environment, "HOME": str(home)},
        timeout=300,
        check=False,
    )


def test_a_classification_makes_no_network_call_and_leaves_nothing_at_home(
    tiny_artifact: Artifact, watch: "Watch", tmp_path: Path
) -> None:
    finished = classify(tiny_artifact, tmp_path, *watch.over("network"))
    assert finished.stdout == "(1, 8)\n", finished.stderr
    assert watch.calls == []
    assert list(tmp_path.iterdir()) == []


def test_a_classification_needs_no_network_interface(
    tiny_artifact: Artifact, tmp_path: Path
) -> None:
    alone = ["unshare", "--net"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("network namespaces are not allowed here")
    finished = classify(tiny_artifact, tmp_path, *alone)
    assert (finished.stdout, finished.stderr) == ("(1, 8)\n", "")


def test_telemetry_is_off_before_onnxruntime_is_imported(tmp_path: Path) -> None:
    script = (
        "import builtins, os\n"
        "real = builtins.__import__\n"
        "def watched(name, *rest):\n"
        "    if name.partition('.')[0] == 'onnxruntime':\n"
        "        assert os.environ.get('ORT_DISABLE_TELEMETRY') == '1', name\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = watched\n"
        "import rankotom_edge.model.onnx_runtime, sys; print('onnxruntime' in sys.modules)"
    )
    environment = {**os.environ, "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert finished.stdout == "True\n", finished.stderr


def test_onnxruntime_is_set_to_stay_offline_before_it_is_imported() -> None:
    """One module imports it for all; the quantizer, a part of it, is imported after that one."""
    root = Path(__file__).parents[3]
    importing = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for package in ("calib", "export", "rankotom_edge", "train")
        for path in (root / package).rglob("*.py")
        if any(
            line.strip().startswith(("import onnxruntime", "from onnxruntime"))
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    }
    assert sorted(importing) == ["export/int8.py", "rankotom_edge/model/onnx_runtime.py"]
    quantizer = importing["export/int8.py"]
    assert quantizer.index("from rankotom_edge.model.onnx_runtime") < quantizer.index(
        "from onnxruntime"
    )
