"""A model file becomes an engine on its device, or there is none and the error says why."""

import runpy
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from calib.errors import RankotomError
from export.artifact_writer import write_artifact
from export.tensorrt.build import BATCHES, BuildProgress, build_engine
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import fastest_classifier
from rankotom_edge.model.embedded import INT8
from rankotom_edge.model.tensorrt_cache import Device, engine_path, timing_path

STAND_IN = Path(__file__).parent / "names" / "stand_in.py"
stand_in = SimpleNamespace(**runpy.run_path(str(STAND_IN)))

ORIN = Device("10.3.0", "Orin")


@pytest.mark.parametrize("version", ["10.3.0", "11.4.0.106"])
def test_a_built_engine_is_the_one_that_the_live_path_finds(
    version: str, tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, gpu = stand_in.install(monkeypatch, version=version)
    built = build_engine(tiny_artifact, tmp_path / "new" / "engines")
    assert built.device == Device(version, "Orin")
    assert built.path == engine_path(tiny_artifact, built.device, built.path.parent)
    assert built.difference < 1e-6
    assert gpu.memory == {}
    classifier, why = fastest_classifier(tiny_artifact, engines=built.path.parent)
    assert (classifier.provider, why) == ("tensorrt", None)


def test_the_network_is_strongly_typed_and_takes_1_to_16_faces(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trt, _ = stand_in.install(monkeypatch)
    build_engine(tiny_artifact, tmp_path)
    network, config = trt._seen.network, trt._seen.config
    assert network._flags == 1 << trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED
    (profile,) = config._profiles
    assert profile._shapes == ("faces", *((faces, 1, 32, 32) for faces in (1, 2, 16)))
    assert BATCHES == (1, 2, 16)
    assert config._cleared == [trt.BuilderFlag.TF32]


def test_a_second_build_starts_from_the_timings_of_the_first(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    for timed in (b"timed ", b"timed timed "):
        build_engine(tiny_artifact, tmp_path)
        assert timing_path(ORIN, tmp_path).read_bytes() == timed


def test_timings_that_tensorrt_refuses_are_replaced(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    timing_path(ORIN, tmp_path).write_bytes(b"of some other device ")
    build_engine(tiny_artifact, tmp_path)
    assert timing_path(ORIN, tmp_path).read_bytes() == b"timed "


def test_a_graph_against_the_rules_is_refused_before_tensorrt_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(RankotomError) as refused:
        build_engine(load_artifact(INT8), tmp_path / "engines")
    assert str(refused.value).startswith("TensorRT cannot build ferplus-int8: ")
    assert str(refused.value).endswith("rankotom-edge export --int8 --target tensorrt")
    assert not (tmp_path / "engines").exists()


def certain(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """All of it for the first class."""
    changed = np.zeros_like(array)
    changed[:, 0] = 1
    return changed


SCARCE = "Error Code 2: OutOfMemory (no further information) Requested size: out of memory"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"parser_errors": [("Conv", "conv1", "no such kernel"), ("Add", "x", "y")]},
            r"TensorRT 10\.3\.0 cannot parse tiny: at Conv conv1: no such kernel \(1 more\)",
        ),
        ({"build_error": "could not find\nany implementation"}, "could not find any implementati"),
        ({"build_error": SCARCE}, "The GPU's memory is full"),
        ({"starts": False}, r"TensorRT 10\.3\.0 does not start"),
        (
            {"answers": lambda arrays: [*map(certain, arrays)]},
            "differ from ONNX Runtime",
        ),
        ({"answers": lambda arrays: [np.nan * array for array in arrays]}, "not finite numbers"),
    ],
    ids=["parser", "build", "memory", "no start", "wrong answers", "no numbers"],
)
def test_a_build_that_fails_says_why_and_leaves_the_earlier_engine(
    how: dict[str, object],
    words: str,
    tiny_artifact: Artifact,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    _, gpu = stand_in.install(monkeypatch, **how)
    path = engine_path(tiny_artifact, ORIN, tmp_path)
    path.write_bytes(b"the one from before")
    with pytest.raises(RankotomError, match=words) as refused:
        build_engine(tiny_artifact, tmp_path)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == b"the one from before"
    assert {left.suffix for left in tmp_path.iterdir()} <= {".engine", ".cache"}
    assert len(list(tmp_path.glob("*.engine"))) == 1
    assert gpu.memory == {}
    assert capfd.readouterr() == ("", "")


def test_an_engine_that_cannot_be_tried_on_a_full_gpu_is_not_kept(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch, stand_in.Gpu(room=1000))
    with pytest.raises(RankotomError, match="The GPU's memory is full"):
        build_engine(tiny_artifact, tmp_path)
    assert list(tmp_path.glob("*.engine")) == []


@pytest.mark.parametrize(
    ("error", "words"),
    [("cudaErrorNoDevice", "no GPU here"), ("cudaErrorInsufficientDriver", "no NVIDIA driver")],
)
def test_without_a_gpu_nothing_is_made(
    error: str,
    words: str,
    tiny_artifact: Artifact,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in.install(monkeypatch, stand_in.Gpu(error=stand_in.CudaError[error]))
    with pytest.raises(RankotomError, match=words):
        build_engine(tiny_artifact, tmp_path / "engines")
    assert not (tmp_path / "engines").exists()


def test_without_tensorrt_the_error_says_how_to_get_it(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(RankotomError, match=r"TensorRT is not installed.*--system-site-packages"):
        build_engine(tiny_artifact, tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    (tmp_path / "file").touch()
    with pytest.raises(RankotomError, match="Cannot make the folder"):
        build_engine(tiny_artifact, tmp_path / "file" / "engines")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_build_and_leaves_nothing(
    tiny_artifact: Artifact,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sent: signal.Signals,
) -> None:
    stand_in.install(monkeypatch, interrupted_by=sent)
    before = signal.signal(sent, signal.default_int_handler)  # under nohup it is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            build_engine(tiny_artifact, tmp_path)
        assert list(tmp_path.iterdir()) == []
        assert signal.getsignal(sent) is signal.default_int_handler
    finally:
        signal.signal(sent, before)


def test_progress_shows_a_bar_for_each_phase_under_way() -> None:
    progress = BuildProgress("tiny")
    progress.phase_start("Building", None, 2)
    progress.phase_start("Timing", "Building", 3)
    assert progress.step_complete("Timing", 1)
    shown = [(task.description, task.completed, task.total) for task in progress.bars.tasks]
    assert shown == [("tiny: Building", 0, 2), ("  Timing", 2, 3)]
    progress.phase_finish("Timing")
    progress.phase_finish("Timing")
    assert [task.description for task in progress.bars.tasks] == ["tiny: Building"]
    assert progress.step_complete("never begun", 0)
    progress.stopped = True
    assert not progress.step_complete("Building", 0)


def test_the_embedded_model_can_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rankotom_edge.model.artifact import load_artifact

    stand_in.install(monkeypatch)
    assert build_engine(load_artifact("ferplus-fp32"), tmp_path).difference < 1e-6


def test_a_model_with_another_temperature_has_another_engine(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.install(monkeypatch)
    model = onnx.load(tiny_artifact.path)
    warmer = write_artifact(
        model, replace(tiny_artifact.card, temperature=2.0), tmp_path / "warmer.onnx"
    )
    (held,) = (
        each for each in onnx.load(warmer.path).graph.initializer if each.name == "temperature"
    )
    assert numpy_helper.to_array(held) == 2.0
    paths = {build_engine(each, tmp_path).path for each in (tiny_artifact, warmer)}
    assert len(paths) == 2
