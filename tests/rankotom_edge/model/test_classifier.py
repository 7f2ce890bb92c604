"""Faces in, calibrated probabilities out."""

import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier, fastest_classifier
from rankotom_edge.model.tensorrt_cache import Device, engine_path

STAND_IN = Path(__file__).parents[2] / "export" / "tensorrt" / "names" / "stand_in.py"
stand_in = SimpleNamespace(**runpy.run_path(str(STAND_IN)))

BUILD = "to build it: rankotom-edge export --tensorrt"


@pytest.fixture(scope="module")
def classifier(tiny_artifact: Artifact) -> Classifier:
    return Classifier(tiny_artifact)


@pytest.fixture(scope="module")
def faces() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 1, 32, 32), dtype=np.uint8)


def test_each_face_gets_a_row_of_probabilities_and_its_evidence(
    classifier: Classifier, faces: np.ndarray
) -> None:
    scores = classifier.classify(faces)
    assert scores.logits.shape == scores.probabilities.shape == (5, 8)
    np.testing.assert_allclose(scores.probabilities.sum(axis=1), 1, atol=1e-6)
    assert scores.evidence is not None
    assert scores.evidence.shape == (5, 8, 2, 2)


def test_a_face_gets_the_same_answer_alone_and_in_company(
    classifier: Classifier, faces: np.ndarray
) -> None:
    together = classifier.classify(faces).logits
    alone = np.concatenate([classifier.classify(face[np.newaxis]).logits for face in faces])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_no_faces_get_no_rows(classifier: Classifier, faces: np.ndarray) -> None:
    scores = classifier.classify(faces[:0])
    assert scores.logits.shape == scores.probabilities.shape == (0, 8)
    assert scores.evidence is not None
    assert scores.evidence.shape == (0, 8, 2, 2)


def test_faces_that_are_not_in_memory_order_are_read_right(
    classifier: Classifier, faces: np.ndarray
) -> None:
    backwards = classifier.classify(faces[::-1]).logits
    np.testing.assert_allclose(backwards, classifier.classify(faces).logits[::-1], atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((1, 32, 32), np.uint8),
        np.zeros((1, 3, 32, 32), np.uint8),
        np.zeros((1, 1, 48, 48), np.uint8),
        np.zeros((0, 1, 48, 48), np.uint8),
        np.zeros((1, 1, 32, 32), np.float32),
    ],
    ids=["one face", "colour", "another size", "none of another size", "floats"],
)
def test_faces_of_another_shape_or_type_are_refused(
    classifier: Classifier, wrong: np.ndarray
) -> None:
    with pytest.raises(RankotomError, match=r"tiny takes faces of bytes \(n, 1, 32, 32\)"):
        classifier.classify(wrong)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of engines that is empty, whatever is in the user's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def cached(artifact: Artifact, home: Path, device: Device | None = None) -> Path:
    folder = home / ".cache/rankotom-edge/engines"
    folder.mkdir(parents=True, exist_ok=True)
    path = engine_path(artifact, device or Device("10.3.0", "Orin"), folder)
    path.write_bytes(stand_in.PLAN + artifact.path.read_bytes())
    return path


def providers(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """As of an onnxruntime-gpu whose libraries are not all there."""
    monkeypatch.setattr("rankotom_edge.model.classifier.providers_here", lambda: names)


def test_without_a_gpu_the_cpu_reads_and_nothing_is_said(tiny_artifact: Artifact) -> None:
    for wanted in ("auto", "cpu"):
        classifier, why = fastest_classifier(tiny_artifact, wanted)
        assert (classifier.provider, why) == ("cpu", None)


def test_a_gpu_that_does_not_work_gives_way_to_the_cpu_with_the_reason(
    tiny_artifact: Artifact, faces: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    providers(monkeypatch, "cpu", "cuda")
    classifier, why = fastest_classifier(tiny_artifact)
    assert classifier.provider == "cpu"
    assert classifier.classify(faces).logits.shape == (5, 8)
    assert why == (
        "ONNX Runtime cannot load its cuda provider here. The CPU reads the faces instead."
    )
    with pytest.raises(RankotomError, match="cannot load its cuda provider"):
        fastest_classifier(tiny_artifact, "cuda")


def test_a_provider_that_is_not_installed_is_an_error_that_says_what_is(
    tiny_artifact: Artifact,
) -> None:
    with pytest.raises(RankotomError, match=r"no cuda provider; it has .*cpu.*For a GPU: pip"):
        fastest_classifier(tiny_artifact, "cuda")


@pytest.mark.parametrize("wanted", ["auto", "tensorrt"])
def test_an_engine_that_fits_is_used_and_nothing_is_said(
    wanted: str,
    tiny_artifact: Artifact,
    faces: np.ndarray,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, gpu = stand_in.install(monkeypatch)
    cached(tiny_artifact, home)
    classifier, why = fastest_classifier(tiny_artifact, wanted)
    assert (classifier.provider, why) == ("tensorrt", None)
    with classifier:
        expected = Classifier(tiny_artifact).classify(faces).logits
        np.testing.assert_allclose(classifier.classify(faces).logits, expected, atol=1e-5)
        assert gpu.memory
    assert not gpu.memory


def test_the_cpu_is_used_where_it_is_asked_for(
    tiny_artifact: Artifact, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    cached(tiny_artifact, home)
    classifier, why = fastest_classifier(tiny_artifact, "cpu")
    assert (classifier.provider, why) == ("cpu", None)


@pytest.mark.parametrize("wanted", ["auto", "tensorrt"])
def test_a_stale_engine_is_named_and_the_cpu_reads(
    wanted: str, tiny_artifact: Artifact, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    cached(tiny_artifact, home, Device("8.6.1", "Nano"))
    classifier, why = fastest_classifier(tiny_artifact, wanted)
    assert classifier.provider == "cpu"
    assert why == (
        "The TensorRT engine of tiny is stale: built for TensorRT 8.6.1 on Nano; this is TensorRT "
        f"10.3.0 on Orin ({BUILD} {tiny_artifact.path}). The CPU reads the faces instead."
    )


def test_an_engine_of_an_older_file_is_not_passed_over_in_silence(
    tiny_artifact: Artifact, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    cached(replace(tiny_artifact, sha256="0" * 64), home)
    classifier, why = fastest_classifier(tiny_artifact)
    assert classifier.provider == "cpu"
    assert why is not None
    assert "no TensorRT engine of tiny as it is now" in why


def test_an_engine_without_tensorrt_gives_way_with_the_reason(
    tiny_artifact: Artifact, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    cached(tiny_artifact, home)
    classifier, why = fastest_classifier(tiny_artifact)
    assert classifier.provider == "cpu"
    assert why is not None
    assert why.startswith("TensorRT is not installed.")


def test_an_engine_that_loads_and_does_not_run_gives_way_and_frees_its_memory(
    tiny_artifact: Artifact, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trt, gpu = stand_in.install(monkeypatch)
    monkeypatch.setattr(trt.IExecutionContext, "execute_async_v3", lambda *_: False)
    cached(tiny_artifact, home)
    classifier, why = fastest_classifier(tiny_artifact)
    assert classifier.provider == "cpu"
    assert why == (
        "TensorRT did not run its engine: no reason given. The CPU reads the faces instead."
    )
    assert not gpu.memory


def test_tensorrt_without_an_engine_is_an_error_that_says_how_to_build_it(
    tiny_artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier, why = fastest_classifier(tiny_artifact, "tensorrt")
    assert classifier.provider == "cpu"
    none = f"There is no TensorRT engine of tiny ({BUILD} {tiny_artifact.path})."
    assert why == f"{none} The CPU reads the faces instead."
    providers(monkeypatch, "cpu", "cuda", "tensorrt")
    _, why = fastest_classifier(tiny_artifact, "tensorrt")
    assert why == (
        f"{none} ONNX Runtime cannot load its tensorrt provider here. "
        "ONNX Runtime cannot load its cuda provider here. The CPU reads the faces instead."
    )


def test_without_an_engine_onnx_runtimes_tensorrt_is_used_where_it_works(
    tiny_artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    providers(monkeypatch, "cpu", "cuda", "tensorrt")
    monkeypatch.setattr(Classifier, "check_runs", lambda self: None)
    classifier, why = fastest_classifier(tiny_artifact, "tensorrt")
    assert classifier.provider == "tensorrt"
    assert why is not None
    assert why.endswith("ONNX Runtime's TensorRT provider reads the faces instead, slow to start.")
    classifier, why = fastest_classifier(tiny_artifact)
    assert (classifier.provider, why) == ("cuda", None)


def test_where_there_is_no_engine_tensorrt_is_not_even_imported(
    tiny_artifact: Artifact, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "tensorrt.py").write_text("raise SystemExit('imported')")
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from rankotom_edge.model.artifact import read_artifact\n"
        "from rankotom_edge.model.classifier import fastest_classifier\n"
        "print(fastest_classifier(read_artifact(Path(sys.argv[1])))[0].provider)"
    )
    command = [sys.executable, "-c", script, str(tiny_artifact.path), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.returncode) == ("cpu\n", 0)
    cached(tiny_artifact, home)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.stderr == "imported\n"
