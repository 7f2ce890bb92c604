"""ONNX Runtime runs without calling out, and leaves nothing in the user's home."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.model import onnx_runtime
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.onnx_runtime import open_session, try_session

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


# Counts to ten million million, one by one.
ENDLESS = """<ir_version: 8, opset_import: ["" : 17]>
counter (float[1] faces) => (float[1] sum) <int64 times = {10000000000000}, bool more = {1}> {
  sum = Loop (times, more, faces) <body = step (int64 index, bool go, float[1] before)
    => (bool again, float[1] after) { again = Identity (go) after = Add (before, before) }>
}"""
FACES = {"faces": np.zeros(1, np.float32)}


def test_a_model_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_runtime, "LONGEST_RUN", 0.2)
    session = open_session(onnx.parser.parse_model(ENDLESS).SerializeToString())
    with pytest.raises(RankotomError, match="terminate flag"):
        try_session(session, ["sum"], FACES)


class Waiting:
    """A session on a machine whose processors work for others."""

    def run(
        self, _outputs: list[str], feeds: dict[str, NDArray[np.float32]], options: object
    ) -> list[NDArray[np.float32]]:
        time.sleep(0.3)
        assert not options.terminate
        return [feeds["faces"]]


def test_a_model_that_waits_for_a_busy_processor_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onnx_runtime, "LONGEST_RUN", 0.2)
    monkeypatch.setattr(onnx_runtime, "WATCH_SECONDS", 0.01)
    (answer,) = try_session(Waiting(), ["sum"], FACES)
    assert answer.tolist() == [0.0]
