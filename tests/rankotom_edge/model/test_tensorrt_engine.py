"""An engine runs like a session of ONNX Runtime."""

import os
import runpy
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.artifact import INPUT, Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.tensorrt_cache import Device, engine_path
from rankotom_edge.model.tensorrt_engine import Engine, open_engine, this_device

STAND_IN = Path(__file__).parents[2] / "export" / "tensorrt" / "names" / "stand_in.py"
stand_in = SimpleNamespace(**runpy.run_path(str(STAND_IN)))

ORIN = Device("10.3.0", "Orin")
OUTPUTS = ["logits", "probabilities", "evidence"]


def cached(artifact: Artifact, device: Device, folder: Path) -> Path:
    """An engine as the stand-in takes it."""
    path = engine_path(artifact, device, folder)
    path.write_bytes(stand_in.PLAN + artifact.path.read_bytes())
    return path


def faces(count: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 256, (count, 1, 32, 32), dtype=np.uint8)


def test_without_an_engine_tensorrt_is_not_asked_for(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(RankotomError, match="There is no TensorRT engine of tiny"):
        open_engine(tiny_artifact, tmp_path / "not there")


def test_an_engine_answers_as_the_model_file_does(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches beyond 16, and faces that are not in memory order, go through in parts."""
    stand_in.install(monkeypatch)
    cached(tiny_artifact, ORIN, tmp_path)
    expected = Classifier(tiny_artifact)
    with Classifier(tiny_artifact, engine=open_engine(tiny_artifact, tmp_path)) as classifier:
        assert classifier.provider == "tensorrt"
        for given_faces in (faces(1), faces(16), faces(40), faces(5)[::-1], faces(0)):
            found, wanted = classifier.classify(given_faces), expected.classify(given_faces)
            np.testing.assert_allclose(found.logits, wanted.logits, atol=1e-5)
            np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-6)
            np.testing.assert_allclose(found.evidence, wanted.evidence, atol=1e-5)


def test_outputs_come_as_asked_and_answers_are_not_overwritten(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    with Engine(cached(tiny_artifact, ORIN, tmp_path)) as engine:
        (first,) = engine.run(["probabilities"], {INPUT: faces(3)})
        before = first.copy()
        second, _ = engine.run(["logits", "evidence"], {INPUT: faces(3)[:1]})
    assert first.shape == (3, 8)
    assert second.shape == (1, 8)
    np.testing.assert_array_equal(first, before)


def test_memory_and_stream_are_given_back(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, gpu = stand_in.install(monkeypatch)
    engine = Engine(cached(tiny_artifact, ORIN, tmp_path))
    assert len(gpu.memory) == 4
    assert len(gpu.streams) == 1
    loaded = [weakref.ref(held) for held in engine._held]
    engine.close()
    engine.close()
    assert (gpu.memory, gpu.streams) == ({}, set())
    assert [held() for held in loaded] == [None, None, None]


def test_what_was_taken_is_given_back_when_memory_runs_out(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room for 16 faces of 1024 bytes, and not for the answers."""
    _, gpu = stand_in.install(monkeypatch, stand_in.Gpu(room=16_500))
    with pytest.raises(RankotomError, match="The GPU's memory is full"):
        Engine(cached(tiny_artifact, ORIN, tmp_path))
    assert (gpu.memory, gpu.streams) == ({}, set())


def broken(path: Path) -> None:
    path.write_bytes(path.read_bytes()[4:])


@pytest.mark.parametrize(
    ("damage", "how", "words"),
    [
        (broken, {}, "does not take the engine .*: magicTag does not match at line 7"),
        (Path.unlink, {}, "Cannot read the engine .*: No such file"),
        (os.fspath, {"starts": False}, "TensorRT 10.3.0 does not start: no reason given"),
    ],
    ids=["damaged", "gone", "no start"],
)
def test_an_engine_that_does_not_load_is_an_error_of_one_line(
    damage: Callable[[Path], object],
    how: dict[str, bool],
    words: str,
    tiny_artifact: Artifact,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    stand_in.install(monkeypatch, **how)
    path = cached(tiny_artifact, ORIN, tmp_path)
    damage(path)
    with pytest.raises(RankotomError, match=words) as refused:
        Engine(path)
    assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", "")


def test_the_device_is_tensorrts_version_and_the_gpus_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in.install(monkeypatch, stand_in.Gpu("NVIDIA Jetson Thor"), version="11.4.0.106")
    assert this_device() == Device("11.4.0.106", "NVIDIA Jetson Thor")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("cudaErrorNoDevice", "CUDA finds no GPU here"),
        ("cudaErrorInsufficientDriver", r"no NVIDIA driver here .* pip install 'cuda-python<13'"),
        ("cudaErrorMemoryAllocation", "memory is full"),
        ("cudaErrorIllegalAddress", r"CUDA failed \(cudaErrorIllegalAddress\): an illegal address"),
    ],
)
def test_an_error_code_of_cuda_becomes_words(
    error: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch, stand_in.Gpu(error=stand_in.CudaError[error]))
    with pytest.raises(RankotomError, match=words):
        this_device()


def test_cuda_python_that_finds_no_library_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """As cuda-python 12.6 does it; from 12.8 on the answer is error 35."""

    def fail() -> None:
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    stand_in.install(monkeypatch)
    monkeypatch.setattr(sys.modules["cuda.bindings.runtime"], "cudaGetDeviceCount", fail)
    with pytest.raises(RankotomError, match=r"no NVIDIA driver here \(Failed to dlopen"):
        this_device()


def test_a_missing_module_is_named_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", None)
    with pytest.raises(RankotomError, match=r"needs cuda-python.*pip install 'cuda-python"):
        this_device()
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(RankotomError, match=r"not installed.*--system-site-packages.*\[tensorrt\]"):
        this_device()
    monkeypatch.delitem(sys.modules, "tensorrt")
    (tmp_path / "tensorrt.py").write_text("raise ImportError('libnvinfer.so.10: not found')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RankotomError, match=r"does not load: libnvinfer\.so\.10: not found"):
        this_device()


def test_the_real_cuda_python_says_that_there_is_no_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("cuda.bindings.runtime", reason="cuda-python is not installed")
    if Path("/dev/nvidiactl").exists() or Path("/dev/nvmap").exists():
        pytest.skip("there is an NVIDIA driver here")
    monkeypatch.setitem(sys.modules, "tensorrt", stand_in.tensorrt(stand_in.Gpu()))
    with pytest.raises(RankotomError, match="There is no NVIDIA driver here"):
        this_device()
