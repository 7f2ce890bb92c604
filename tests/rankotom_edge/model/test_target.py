"""A quantized model on the machine it was made for, and on another."""

import importlib
import platform
from dataclasses import replace

import numpy as np
import pytest

from rankotom_edge.model import embedded, target
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.classifier import Classifier

CARD = load_artifact("ferplus-fp32").card
FOR_X86 = replace(CARD, name="small", precision="int8", targets=("x86",))  # older files say so
FOR_CPUS = replace(CARD, name="small", precision="int8", targets=("x86", "arm"))
FOR_TENSORRT = replace(CARD, name="small", precision="int8", targets=("tensorrt",))


@pytest.fixture
def on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("x86_64", "x86"), ("AMD64", "x86"), ("aarch64", "arm"), ("arm64", "arm"), ("riscv64", None)],
)
def test_a_machine_is_known_by_its_name(
    name: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: name)
    assert target.this_machine() == kind


@pytest.fixture
def on_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")


@pytest.mark.usefixtures("on_x86")
def test_a_model_on_its_own_kind_of_machine_has_no_warning() -> None:
    assert target.target_warning(CARD) is None
    assert target.target_warning(FOR_CPUS) is None
    assert target.target_warning(FOR_TENSORRT, "tensorrt") is None


@pytest.mark.usefixtures("on_arm")
def test_arm_runs_the_cpus_int8_model_and_keeps_tensorrts_in_exact_arithmetic() -> None:
    cpus, tensorrts = (load_artifact(name).card for name in ("ferplus-int8", "ferplus-int8-s8s8"))
    assert target.target_warning(cpus) is None
    assert not target.needs_exact_arithmetic(cpus)
    assert target.needs_exact_arithmetic(tensorrts)
    assert not target.needs_exact_arithmetic(tensorrts, "tensorrt")


@pytest.mark.parametrize(
    ("machine", "default"),
    [("x86_64", "ferplus-int8"), ("aarch64", "ferplus-int8"), ("riscv64", "ferplus-fp32")],
)
def test_the_default_is_int8_where_it_was_judged(
    machine: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    try:
        importlib.reload(embedded)
        assert default == embedded.DEFAULT
    finally:
        monkeypatch.undo()
        importlib.reload(embedded)


@pytest.mark.usefixtures("on_x86")
def test_a_model_on_another_machine_says_what_it_is_for_and_what_to_do() -> None:
    words = target.target_warning(FOR_TENSORRT)
    assert words is not None
    for part in ("small", "for tensorrt", "this is x86", "exact arithmetic", "--target x86"):
        assert part in words
    on_gpu = target.target_warning(FOR_CPUS, "cuda")
    assert on_gpu is not None
    assert "made for x86 and arm, and this is a GPU" in on_gpu
    assert "export --int8 --target tensorrt" in on_gpu


@pytest.mark.usefixtures("on_arm")
def test_an_older_file_for_x86_alone_runs_in_exact_arithmetic_on_arm() -> None:
    assert target.needs_exact_arithmetic(FOR_X86)
    words = target.target_warning(FOR_X86)
    assert words is not None
    assert "export --int8 --target arm" in words


@pytest.mark.usefixtures("on_x86")
def test_only_int8_needs_exact_arithmetic_on_another_machine() -> None:
    assert target.needs_exact_arithmetic(FOR_TENSORRT)
    assert not target.needs_exact_arithmetic(FOR_CPUS)
    half: ModelCard = replace(CARD, precision="fp16", targets=("tensorrt",))
    assert not target.needs_exact_arithmetic(half)
    words = target.target_warning(half)
    assert words is not None
    assert "use its FP32 parent" in words
    assert "--fp16" not in words


@pytest.mark.usefixtures("on_x86")
def test_the_bars_mean_the_same_on_a_machine_that_the_model_is_not_for() -> None:
    """The integer kernels of an x86 CPU without VNNI would change the answer for 13 % of faces."""
    faces = np.random.default_rng(0).integers(0, 256, (16, 1, 48, 48), dtype=np.uint8)
    foreign, parent = (
        Classifier(load_artifact(name)).classify(faces).probabilities
        for name in ("ferplus-int8-s8s8", "ferplus-fp32")
    )
    assert np.abs(foreign - parent).max() < 0.15
