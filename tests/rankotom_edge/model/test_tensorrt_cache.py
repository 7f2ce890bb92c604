"""An engine is found by all that it depends on."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.tensorrt_cache import (
    Device,
    engine_path,
    engines_folder,
    engines_of,
    find_engine,
    has_engines,
    how_to_build,
    timing_path,
)

ORIN = Device("10.3.0", "Orin")
MODEL = replace(load_artifact("ferplus-int8"), sha256="a" * 64)


def cached(artifact: Artifact, device: Device, folder: Path) -> Path:
    path = engine_path(artifact, device, folder)
    path.write_bytes(b"an engine")
    return path


def test_the_file_name_is_all_that_an_engine_depends_on() -> None:
    path = engine_path(MODEL, ORIN, Path("engines"))
    assert path == Path(f"engines/{'a' * 64}+int8+10.3.0+Orin.engine")


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_name_of_a_gpu_gives_a_file_of_its_own(one: str, other: str) -> None:
    folder = Path("engines")
    paths = [engine_path(MODEL, replace(ORIN, gpu=gpu), folder) for gpu in (one, other)]
    assert (paths[0] == paths[1]) == (one == other)
    for path in paths:
        name = path.name
        assert path.parent == folder
        assert name.isascii()
        assert name.isprintable()
        assert len(name) < 255 - len("-12345678")


@pytest.mark.parametrize(
    "gpu", ["NVIDIA A10/G", "..", "a+b", "x" * 255, "\N{GREEK SMALL LETTER MU}"]
)
def test_an_engine_for_a_gpu_of_any_name_is_found_again(
    gpu: str, tiny_artifact: Artifact, tmp_path: Path
) -> None:
    device = Device("11.4.0.106", gpu)
    path = cached(tiny_artifact, device, tmp_path)
    assert path.parent == tmp_path
    assert find_engine(tiny_artifact, device, tmp_path) == path
    assert engines_of(tiny_artifact, tmp_path) == (path,)


def test_each_part_of_the_key_gives_another_file() -> None:
    half = replace(MODEL, card=replace(MODEL.card, precision="fp16"))
    pairs = [
        (MODEL, ORIN),
        (replace(MODEL, sha256="b" * 64), ORIN),
        (half, ORIN),
        (MODEL, replace(ORIN, tensorrt="10.16.1.11")),
        (MODEL, replace(ORIN, gpu="Thor")),
    ]
    assert len({engine_path(*pair, Path("engines")) for pair in pairs}) == 5


def test_engines_are_in_the_cache_unless_another_folder_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert engines_folder() == tmp_path / ".cache/rankotom-edge/engines"
    assert engines_folder(tmp_path) == tmp_path


def test_timings_are_of_a_device_and_no_engine(tmp_path: Path) -> None:
    path = timing_path(Device("10.3.0", "NVIDIA A10/G"), tmp_path)
    assert path.name == "timing+10.3.0+NVIDIA%20A10%2FG.cache"
    assert path != timing_path(ORIN, tmp_path)


@pytest.mark.parametrize(
    ("built_for", "words"),
    [
        (Device("10.3.0", "NVIDIA Thor"), "built for TensorRT 10.3.0 on NVIDIA Thor; this is"),
        (Device("10.3.0", "a+b %"), "built for TensorRT 10.3.0 on a+b %; this is"),
        (Device("8.6.1", "Orin"), "built for TensorRT 8.6.1 on Orin; this is"),
    ],
    ids=["another GPU", "an odd GPU", "another TensorRT"],
)
def test_a_stale_engine_is_not_found_and_is_named(
    built_for: Device, words: str, tiny_artifact: Artifact, tmp_path: Path
) -> None:
    cached(tiny_artifact, built_for, tmp_path)
    with pytest.raises(RankotomError) as refused:
        find_engine(tiny_artifact, ORIN, tmp_path)
    assert words in str(refused.value)
    assert "this is TensorRT 10.3.0 on Orin (to build it: rankotom-edge" in str(refused.value)


def test_an_engine_of_another_file_of_that_name_is_not_found(
    tiny_artifact: Artifact, tmp_path: Path
) -> None:
    cached(replace(tiny_artifact, sha256="0" * 64), ORIN, tmp_path)
    with pytest.raises(RankotomError, match=r"no TensorRT engine of tiny as it is now; those in"):
        find_engine(tiny_artifact, ORIN, tmp_path)


def test_the_way_to_build_is_a_command_that_can_be_pasted(tiny_artifact: Artifact) -> None:
    spaced = replace(tiny_artifact, path=Path("my models/tiny.onnx"))
    assert how_to_build(spaced).endswith("export --tensorrt 'my models/tiny.onnx'")
    assert how_to_build(load_artifact("ferplus-fp32")).endswith("--tensorrt ferplus-fp32")


def test_a_model_that_tensorrt_does_not_take_is_not_sent_to_its_builder(tmp_path: Path) -> None:
    embedded = load_artifact("ferplus-int8")
    assert how_to_build(embedded) == (
        "TensorRT takes no file that is made for x86 and arm: rankotom-edge export --tensorrt, "
        "then camera --model ferplus-int8-s8s8"
    )
    own = replace(embedded, path=tmp_path / "mine.onnx")
    assert "export --int8 --tensorrt, of its FP32 parent" in how_to_build(own)
    symmetric = load_artifact("ferplus-int8-s8s8")
    assert how_to_build(symmetric).endswith("rankotom-edge export --tensorrt ferplus-int8-s8s8")


def test_only_an_engine_counts_as_one(tiny_artifact: Artifact, tmp_path: Path) -> None:
    timing_path(ORIN, tmp_path).write_bytes(b"")
    assert not has_engines(tmp_path)
    cached(tiny_artifact, ORIN, tmp_path)
    assert has_engines(tmp_path)
