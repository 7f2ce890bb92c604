"""A tiny model exported for real, a FERPlus folder of noise to ask it about, a watch on what a
program asks of the system, and axe-core for its pages."""

from __future__ import annotations

import csv
import importlib.util
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import pytest
from hypothesis import settings

from calib.emotions import EMOTIONS
from rankotom_edge import interrupts
from rankotom_edge.doctor import private

# PyPI's torch for Linux brings gigabytes of CUDA: `make pythons` does without.
NEED_TORCH = [
    "train",
    "export/test_to_onnx.py",
    "rankotom_edge/cli/test_export.py",
    "rankotom_edge/cli/test_train.py",
]
collect_ignore = [] if importlib.util.find_spec("torch") else NEED_TORCH

if TYPE_CHECKING:
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.card import ModelCard
    from rankotom_edge.model.own_calibration import SavedCalibration
    from train.networks import ResNet

# A machine that others share takes its time now and then.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

SIZE = 32
FACES = {"FER2013Valid": ("PublicTest", 40), "FER2013Test": ("PrivateTest", 12)}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if collect_ignore:
        terminalreporter.write_line(f"torch is not installed; left out: {', '.join(NEED_TORCH)}")


@pytest.fixture(autouse=True)
def _interruptible() -> None:
    """A shell ignores SIGINT for what it starts in the background, nohup ignores SIGHUP, and a
    child inherits that. A test that ran the program in this process left its handlers, and the next
    interrupt of a test would end every loop after it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    interrupts._interrupted_at = None


@pytest.fixture(autouse=True)
def _no_own_calibration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A calibration of whoever runs the tests would change what the model says, and tests that
    calibrate leave nothing in their home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("own")))
        yield


class Watch:
    """strace, as what stands before a command, and the system calls that it saw."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def over(self, calls: str) -> tuple[str, ...]:
        return private.strace(str(self._trace), calls)

    @property
    def calls(self) -> list[str]:
        return private.named_calls(self._trace.read_text().splitlines())


@pytest.fixture
def watch(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    watch = Watch(tmp_path_factory.mktemp("watch") / "trace")
    tried = subprocess.run([*watch.over("network"), "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("tracing is not allowed here")
    return watch


@pytest.fixture(scope="session")
def made_ferplus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FERPlus's layout with 40 valid and 12 test faces of noise."""
    root = tmp_path_factory.mktemp("data") / "FERPlus"
    random = np.random.default_rng(0)
    rows = []
    for folder, (usage, count) in FACES.items():
        (root / "data" / folder).mkdir(parents=True)
        for number in range(count):
            name = f"fer{number:07}.png"
            picture = random.integers(0, 256, (48, 48), dtype=np.uint8)
            cv2.imwrite(str(root / "data" / folder / name), picture)
            votes = random.multinomial(10, random.dirichlet(np.full(len(EMOTIONS), 0.5)))
            rows.append([usage, name, *votes.tolist(), 0, 0])
    with (root / "fer2013new.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Usage", "Image name", *EMOTIONS, "unknown", "NF"])
        writer.writerows(rows)
    return root


@pytest.fixture(scope="session")
def fp32() -> Artifact:
    from rankotom_edge.model.artifact import load_artifact

    return load_artifact("ferplus-fp32")


@pytest.fixture(scope="session")
def own_calibration(fp32: Artifact) -> SavedCalibration:
    """Of a camera before which the model is twice too sure, by 150 faces with two labels each."""
    from calib.rater import vote_matrix
    from calib.temperature import softmax
    from calib.try_calibration import try_calibration
    from rankotom_edge.model.own_calibration import SavedCalibration, Usual

    random = np.random.default_rng(0)
    logits = 4 * random.normal(size=(150, 8))
    matrix = vote_matrix(8)
    truth = [random.choice(8, p=each) for each in softmax(logits / 2)]
    votes = np.stack([random.multinomial(2, matrix[each]) for each in truth])
    trial = try_calibration(logits, votes, np.arange(150))
    assert trial.verdict.passed
    return SavedCalibration(
        model=fp32.card.name,
        sha256=fp32.sha256,
        classes=fp32.card.labels,
        source="camera 0",
        created=datetime(2026, 11, 18, 10, 42, tzinfo=timezone.utc),
        trial=trial,
        usual=Usual.of(trial.calibration.apply(logits)),
    )


@pytest.fixture(scope="session")
def tiny_network() -> ResNet:
    """Random weights, and batch norms that would show if they were left out."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    nn = torch.nn

    from train.networks import BasicBlock, ResNet, edge_stem

    torch.manual_seed(0)
    network = ResNet(BasicBlock, (1, 1, 1, 1), (4, 4, 8, 8), stem=edge_stem(1, 4), classes=8)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.3)
            assert module.running_mean is not None
            assert module.running_var is not None
            nn.init.normal_(module.running_mean, std=0.3)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network.eval()


@pytest.fixture(scope="session")
def tiny_card() -> ModelCard:
    from calib.evaluation import Evaluation
    from rankotom_edge.faces.crop import FERPLUS_FRAMING
    from rankotom_edge.model.card import CropContract, FacesUsed, ModelCard

    shares = dict.fromkeys(("accuracy", "ece", "aece", "mce"), 0.25)
    measured = {"n": 20, **shares, "intervals": {name: [0.2, 0.3] for name in shares}}
    return ModelCard(
        name="tiny",
        labels=EMOTIONS,
        crop=CropContract(SIZE, 1, FERPLUS_FRAMING),
        mirror=True,
        temperature=0.7,
        precision="fp32",
        recipe={"name": "made-up", "epochs": 3},
        parent="0" * 64,
        calibrated_on=(FacesUsed("noise/choose", 20, "1" * 64),),
        measured_on=FacesUsed("noise/report", 20, "2" * 64),
        evaluation=Evaluation.from_json(measured),
        licence="For tests.",
        created_by="rankotom-edge tests",
    )


@pytest.fixture(scope="session")
def tiny_artifact(
    tiny_network: ResNet, tiny_card: ModelCard, tmp_path_factory: pytest.TempPathFactory
) -> Artifact:
    from export.artifact_writer import write_artifact
    from export.to_onnx import to_onnx

    model = to_onnx(tiny_network, tiny_card.crop, mirror=tiny_card.mirror)
    return write_artifact(model, tiny_card, tmp_path_factory.mktemp("models") / "tiny.onnx")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system of 400 KB cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core's script, which finds what people with disabilities cannot use on a page."""
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def violations(browser: Any, axe: str) -> Callable[[], list[str]]:
    """What axe-core has against the page that is open: the rule, and where it is broken."""

    def find() -> list[str]:
        browser.execute_script(axe)
        found = browser.execute_async_script("axe.run().then(arguments[0])")
        return [
            f"{each['id']}: {', '.join(str(node['target']) for node in each['nodes'])}"
            for each in found["violations"]
        ]

    return find
