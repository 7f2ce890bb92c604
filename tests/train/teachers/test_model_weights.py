from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from train.augment import scale_pixels
from train.checkpoint import load_weights
from train.networks import build_network
from train.teachers.model_weights import load_model_network
from train.teachers.recogniser import Recogniser, measure_batch_norms
from train.teachers.start_weights import augment_sample


@pytest.fixture(scope="module")
def faces() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (6, 1, 48, 48), dtype=np.uint8)


@torch.inference_mode()
def two_views(network: torch.nn.Module, faces: NDArray[np.uint8]) -> NDArray[np.float32]:
    pixels = scale_pixels(torch.from_numpy(faces))
    logits: NDArray[np.float32] = ((network(pixels) + network(pixels.flip(3))) / 2).numpy()
    return logits


def test_the_embedded_model_s_network_gives_its_logits_without_the_offsets(
    faces: NDArray[np.uint8],
) -> None:
    artifact = load_artifact("ferplus-fp32")
    expected = Classifier(artifact).classify(faces).logits - np.float32(artifact.card.offsets)
    network = load_model_network(artifact).eval()
    assert np.abs(two_views(network, faces) - expected).max() < 1e-3
    measure_batch_norms(network, augment_sample(faces, network.size))
    assert np.abs(two_views(network, faces) - expected).max() < 1e-3
    # The batch norms are real ones now.
    assert not torch.equal(network.bn1.running_mean, torch.zeros(32))  # type: ignore[arg-type]


def test_training_starts_from_the_model_s_last_layer_too(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    network = load_model_network(load_artifact("ferplus-fp32"))
    file = tmp_path / "start.safetensors"
    state = network.state_dict().items()
    save_file({f"averaged.{key}": value.contiguous() for key, value in state}, file)
    started = build_network("edge-dlib", channels=1, classes=8, dropout=0.1)
    assert isinstance(started, Recogniser)
    load_weights(file, started)
    assert torch.equal(started.fc.bias, network.fc.bias)


def test_a_quantized_model_is_refused() -> None:
    with pytest.raises(RankotomError, match=r"ferplus-int8.*Training goes on from FP32 models"):
        load_model_network(load_artifact("ferplus-int8"))
