"""The comparison of `make arm64`, as far as it goes without the emulation, and what it refuses."""

import importlib.util
import os
import platform
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parent
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@pytest.fixture(scope="module")
def agreement() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agreement", FOLDER / "agreement.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_answers(
    agreement: ModuleType, folder: Path, model: str, change: float, faces: int = 1
) -> None:
    """Both machines', of which ARM's of one model differ in one logit of some of 100 faces."""
    logits = np.random.default_rng(0).normal(0, 0.1, (100, 8)).astype(np.float32)
    logits[:, 0] = 5
    here = dict.fromkeys(agreement.MODELS, logits)
    seconds = {f"{name} seconds": np.array(0.1) for name in agreement.MODELS}
    np.savez(folder / "x86.npz", **here, **seconds)
    for name in agreement.MODELS:
        other = logits.copy()
        if name == model:
            other[:faces, 1] += change
        answers = {name: other, f"{name} seconds": np.array(1.0)}
        np.savez(folder / f"arm64-{name}.npz", **answers)


@pytest.mark.parametrize(
    ("model", "change", "faces"),
    [("ferplus-fp32", 5e-5, 100), ("ferplus-int8", 5e-5, 100), ("ferplus-int8", 0.1, 9)],
)
def test_sums_in_another_order_and_a_rounding_now_and_then_pass(
    agreement: ModuleType,
    model: str,
    change: float,
    faces: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_answers(agreement, tmp_path, model, change, faces)
    assert agreement.main("compare", str(tmp_path)) == 0
    assert "FAILED" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "change", "faces", "words"),
    [
        ("ferplus-fp32", 0.001, 1, "logits differ by 1.0e-03"),
        ("ferplus-int8", 0.5, 1, "logits differ by 5.0e-01"),
        ("ferplus-int8", 0.01, 20, "logits differ in 20% of the faces"),
        ("ferplus-int8-s8s8", 9.0, 2, "2.0% of the faces have another expression"),
    ],
)
def test_other_numbers_on_arm_fail_and_name_the_model(
    agreement: ModuleType,
    model: str,
    change: float,
    faces: int,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_answers(agreement, tmp_path, model, change, faces)
    assert agreement.main("compare", str(tmp_path)) == 1
    assert f"FAILED  {model}: {words}" in capsys.readouterr().out


def test_integer_kernels_that_no_cpu_uses_may_answer_otherwise(
    agreement: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_answers(agreement, tmp_path, agreement.KERNELS, 0.12, faces=100)
    assert agreement.main("compare", str(tmp_path)) == 0
    assert "0.12" in capsys.readouterr().out


def test_without_a_data_set_the_faces_come_from_the_portrait_and_are_the_same_each_time(
    agreement: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "none"))
    for name in ("one", "two"):
        assert agreement.main("choose", str(tmp_path / f"{name}.npy"), "10") == 0
    faces = np.load(tmp_path / "one.npy")
    assert (faces.shape, faces.dtype) == ((10, 1, 48, 48), np.uint8)
    assert np.array_equal(faces, np.load(tmp_path / "two.npy"))
    assert agreement.main("read", str(tmp_path / "one.npy"), str(tmp_path / "x86.npz")) == 0
    answers = np.load(tmp_path / "x86.npz")
    assert agreement.softmax(answers["ferplus-fp32"]).max() < 1
    assert np.abs(answers["ferplus-int8"] - answers["ferplus-fp32"]).max() < 1


def test_too_few_unsaturated_faces_are_an_error(
    agreement: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "none"))
    monkeypatch.setattr(agreement, "SATURATED", 0.1)
    assert agreement.main("choose", str(tmp_path / "faces.npy"), "2") == 2
    assert not (tmp_path / "faces.npy").exists()


def run_with(folder: Path, program: str, answer: str) -> str:
    """What the script says where this program answers so, before it fetches anything."""
    stand_in = folder / program
    stand_in.write_text(f"#!/bin/sh\n{answer}\n")
    stand_in.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "RANKOTOM_ARM64": str(folder / "cache"),
    }
    finished = subprocess.run(
        ["bash", str(FOLDER / "run.sh")], env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 1
    assert not (folder / "cache").exists()
    return finished.stderr


def test_on_another_processor_the_script_says_what_it_needs(tmp_path: Path) -> None:
    said = run_with(tmp_path, "uname", "echo riscv64")
    assert said == "arm64: emulates ARM on x86-64, and this is riscv64\n"


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not KEYS.exists(), reason="this is no Debian on x86-64"
)
def test_where_namespaces_are_forbidden_the_script_says_so(tmp_path: Path) -> None:
    said = run_with(tmp_path, "unshare", "exit 1")
    assert said.startswith("arm64: ")
    assert "binfmt_misc" in said or "needs Linux 6.7 with user namespaces, or root" in said
    assert len(said.splitlines()) == 1
