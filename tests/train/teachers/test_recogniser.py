"""The two recognisers: shapes, batch norms, and whether they still recognise faces."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from calib.errors import RankotomError
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from train.augment import scale_pixels
from train.checkpoint import load_weights
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset
from train.networks import NetworkName, build_network
from train.teachers.dlib import Dlib
from train.teachers.faceres import pad_same
from train.teachers.recogniser import CROP, Recogniser, measure_batch_norms
from train.teachers.start_weights import load_recogniser

SHARED = Path(__file__).parents[4] / "shared" / "data" / "start"
FILES = Path(
    os.environ.get("RANKOTOM_START") or (SHARED if SHARED.exists() else data_folder(None) / "start")
)
needs_files = pytest.mark.skipif(
    not (FILES / Dlib.manifest).exists(),
    reason=f"no recognisers in {FILES} (RANKOTOM_START); see train/teachers/start_weights.py",
)
NAMES: tuple[NetworkName, ...] = ("dlib-112", "faceres-112")


def build(name: NetworkName) -> Recogniser:
    network = build_network(name, channels=1, classes=8, dropout=0.0)
    assert isinstance(network, Recogniser)
    return network.eval()


@pytest.mark.parametrize(
    ("name", "maps"),
    [
        ("edge-dlib", (256, 3, 3)),
        ("dlib-112", (256, 3, 3)),
        ("dlib-150", (256, 4, 4)),
        ("faceres-112", (1024, 4, 4)),
    ],
)
@torch.inference_mode()
def test_a_face_of_the_crop_contract_gives_maps_logits_and_evidence(
    name: NetworkName, maps: tuple[int, int, int]
) -> None:
    network, faces = build(name), torch.randn(2, 1, CROP, CROP)
    features = network.features(faces)
    assert features.shape == (2, *maps)
    logits = network(faces)
    assert logits.shape == (2, 8)
    evidence = network.evidence(features)
    assert evidence.shape == (2, 8, *maps[1:])
    assert torch.allclose(evidence.mean(dim=(2, 3)) + network.fc.bias, logits, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_an_enlarged_face_gives_the_same_logits_as_the_crop(name: NetworkName) -> None:
    torch.manual_seed(0)
    network, faces = build(name), torch.randn(2, 1, CROP, CROP)
    large = torch.nn.functional.interpolate(faces, size=(112, 112), mode="bilinear")
    assert torch.allclose(network(large), network(faces), atol=1e-4)


@torch.inference_mode()
def test_the_edge_network_exports_what_it_computes_with_fewer_operators() -> None:
    torch.manual_seed(0)
    network, faces = build("edge-dlib"), torch.randn(2, 1, CROP, CROP)
    before = network(faces)
    assert isinstance(network, Dlib)
    network.merge_for_export()
    assert not any(isinstance(module, torch.nn.AvgPool2d) for module in network.modules())
    assert torch.allclose(network(faces), before, atol=1e-4)


def test_the_edge_network_starts_from_the_blocks_that_it_shares_with_a_teacher(
    tmp_path: Path,
) -> None:
    teacher, student = build("dlib-112"), build("edge-dlib")
    weights = {f"averaged.{key}": value for key, value in teacher.state_dict().items()}
    save_file(weights, tmp_path / "checkpoint.safetensors")
    load_weights(tmp_path / "checkpoint.safetensors", student)
    of_teacher, of_student = dict(teacher.named_parameters()), dict(student.named_parameters())
    assert len(of_student) == len(of_teacher) - 3 * 6  # three blocks of two layers
    assert all(torch.equal(value, of_teacher[key]) for key, value in of_student.items())


@pytest.mark.parametrize(("side", "padded"), [(8, (0, 1)), (7, (1, 1))])
def test_same_padding_is_tensorflows(side: int, padded: tuple[int, int]) -> None:
    before, after = padded
    column = pad_same(torch.ones(1, 1, side, side))[0, 0, :, side // 2]
    assert column.tolist() == [0.0] * before + [1.0] * side + [0.0] * after


@pytest.mark.parametrize("name", NAMES)
def test_colours_are_refused(name: NetworkName) -> None:
    with pytest.raises(RankotomError, match="grey"):
        build_network(name, channels=3, classes=8, dropout=0.0)


@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_measured_batch_norms_do_not_change_the_output(name: NetworkName) -> None:
    torch.manual_seed(0)
    network, faces = build(name), torch.rand(8, 1, CROP, CROP) * 2 - 1
    before = network(faces)
    measure_batch_norms(network, [faces[:4], faces[4:]])
    assert (network(faces) - before).abs().max() < 3e-6 * before.abs().max().clamp_min(1)
    if isinstance(network, Dlib):  # faceres pads before its first convolution
        large = torch.nn.functional.interpolate(faces, (112, 112), mode="bilinear")
        means = network.conv1(large).mean(dim=(0, 2, 3))
        assert network.bn1.running_mean is not None
        assert torch.allclose(network.bn1.running_mean, means, atol=1e-4)


@needs_files
@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_nor_with_the_published_weights(name: NetworkName) -> None:
    faces = np.random.default_rng(0).integers(0, 256, (64, 1, CROP, CROP), np.uint8)
    network = build(name)
    network.load_published_weights(FILES)
    pixels = scale_pixels(torch.from_numpy(faces[:8]))
    before = network(pixels)
    measured = load_recogniser(name, FILES, faces, classes=8)
    measured.fc.load_state_dict(network.fc.state_dict())
    assert (measured(pixels) - before).abs().max() < 1e-4 * before.abs().max()


@needs_files
def test_files_of_another_network_are_refused(tmp_path: Path) -> None:
    (tmp_path / Dlib.manifest).write_text((FILES / "faceres.json").read_text())
    (tmp_path / "faceres.bin").write_bytes((FILES / "faceres.bin").read_bytes())
    with pytest.raises(RankotomError, match="does not hold the weights of Dlib"):
        build("dlib-112").load_published_weights(tmp_path)


@needs_files
@pytest.mark.parametrize(("name", "at_least"), [("dlib-112", 0.9), ("faceres-112", 0.88)])
@torch.inference_mode()
def test_faces_of_one_person_are_more_alike_than_faces_of_two(
    name: NetworkName, at_least: float
) -> None:
    """The probability of it, which is the area under the ROC curve."""
    try:
        lfw = load_dataset("lfw", data_folder(None), "train")
    except RankotomError as error:
        pytest.skip(f"LFW: {error}")
    people = np.array([file.parent.name for file in lfw.files])
    names, counts = np.unique(people, return_counts=True)
    chosen = np.flatnonzero(np.isin(people, names[(counts >= 4) & (counts <= 12)]))[:300]
    pixels = load_crops(lfw.subset(chosen), CROP, 1, FERPLUS_FRAMING, data_folder(None) / "framed")
    network = build(name)
    network.load_published_weights(FILES)
    features = network.features(scale_pixels(torch.from_numpy(np.array(pixels)))).mean(dim=(2, 3))
    alike = torch.nn.functional.normalize(features - features.mean(dim=0), dim=1)
    pairs = np.triu_indices(len(chosen), 1)
    same = (people[chosen][:, None] == people[chosen])[pairs]
    ranks = (alike @ alike.T).numpy()[pairs].argsort().argsort()
    auc = (ranks[same].mean() - (same.sum() - 1) / 2) / (~same).sum()
    assert auc > at_least
