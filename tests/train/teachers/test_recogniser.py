"""The two recognisers: their shapes, their batch norms, and that they still know faces."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from calib.errors import RankotomError
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from train.augment import scale_pixels
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset
from train.networks import NetworkName, build_network
from train.teachers.dlib import MANIFEST as DLIB_MANIFEST
from train.teachers.dlib import Dlib
from train.teachers.faceres import FaceRes, pad_same
from train.teachers.recogniser import CROP, measure_norms
from train.teachers.start import started

START = Path(os.environ.get("RANKOTOM_START", data_folder(None) / "start"))
needs_start = pytest.mark.skipif(
    not (START / DLIB_MANIFEST).exists(),
    reason=f"no recognisers in {START} (RANKOTOM_START); train/teachers/start.py says whence",
)
KINDS: tuple[NetworkName, ...] = ("dlib-112", "faceres-112")


def build(name: NetworkName) -> Dlib | FaceRes:
    network = build_network(name, channels=1, classes=8, dropout=0.0)
    assert isinstance(network, Dlib | FaceRes)
    return network.eval()


@pytest.mark.parametrize(
    ("name", "maps"),
    [("dlib-112", (256, 3, 3)), ("dlib-150", (256, 4, 4)), ("faceres-112", (1024, 4, 4))],
)
@torch.inference_mode()
def test_a_face_of_the_crop_contract_becomes_maps_logits_and_evidence(
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


@pytest.mark.parametrize("name", KINDS)
@torch.inference_mode()
def test_a_face_that_was_enlarged_already_is_seen_as_one_that_was_not(name: NetworkName) -> None:
    network, faces = build(name), torch.randn(2, 1, CROP, CROP)
    large = torch.nn.functional.interpolate(faces, size=(112, 112), mode="bilinear")
    assert torch.allclose(network(large), network(faces), atol=1e-6)


@pytest.mark.parametrize(("side", "padded"), [(8, (0, 1)), (7, (1, 1))])
def test_same_padding_is_tensorflows(side: int, padded: tuple[int, int]) -> None:
    before, after = padded
    kept = pad_same(torch.ones(1, 1, side, side))[0, 0, :, side // 2]
    assert kept.tolist() == [0.0] * before + [1.0] * side + [0.0] * after


@pytest.mark.parametrize("channels", [3])
@pytest.mark.parametrize("name", KINDS)
def test_colours_are_refused(name: NetworkName, channels: int) -> None:
    with pytest.raises(RankotomError, match="grey"):
        build_network(name, channels=channels, classes=8, dropout=0.0)


@pytest.mark.parametrize("name", KINDS)
@torch.inference_mode()
def test_real_batch_norms_leave_the_function_as_it_was(name: NetworkName) -> None:
    torch.manual_seed(0)
    network, faces = build(name), torch.rand(8, 1, CROP, CROP) * 2 - 1
    before = network(faces)
    measure_norms(network, [faces[:4], faces[4:]])
    assert (network(faces) - before).abs().max() < 3e-6 * before.abs().max().clamp_min(1)
    first = network.bn1
    seen = network.conv1(torch.nn.functional.interpolate(faces, (112, 112), mode="bilinear"))
    if name.startswith("dlib"):  # faceres pads before
        assert first.running_mean is not None
        assert torch.allclose(first.running_mean, seen.mean(dim=(0, 2, 3)), atol=1e-4)


@needs_start
@pytest.mark.parametrize("name", KINDS)
@torch.inference_mode()
def test_the_recognisers_weights_keep_their_function_too(name: NetworkName) -> None:
    faces = np.random.default_rng(0).integers(0, 256, (64, 1, CROP, CROP), np.uint8)
    network = build(name)
    network.start_from(START)
    head = network.fc.state_dict()
    shown = scale_pixels(torch.from_numpy(faces[:8]))
    before = network(shown)
    again = started(name, START, faces, classes=8)
    again.fc.load_state_dict(head)
    assert (again(shown) - before).abs().max() < 1e-4 * before.abs().max()


@needs_start
def test_files_of_another_network_are_refused(tmp_path: Path) -> None:
    (tmp_path / DLIB_MANIFEST).write_text((START / "faceres.json").read_text())
    (tmp_path / "faceres.bin").write_bytes((START / "faceres.bin").read_bytes())
    with pytest.raises(RankotomError, match="is not of dlib's network"):
        build("dlib-112").start_from(tmp_path)


@needs_start
@pytest.mark.parametrize(("name", "at_least"), [("dlib-112", 0.9), ("faceres-112", 0.88)])
@torch.inference_mode()
def test_the_same_persons_faces_lie_nearer_than_strangers(
    name: NetworkName, at_least: float
) -> None:
    """The chance that two faces of one person are more alike than two of two persons."""
    try:
        lfw = load_dataset("lfw", data_folder(None), "train")
    except RankotomError as error:
        pytest.skip(f"LFW: {error}")
    people = np.array([file.parent.name for file in lfw.files])
    names, counts = np.unique(people, return_counts=True)
    chosen = np.flatnonzero(np.isin(people, names[(counts >= 4) & (counts <= 12)]))[:300]
    some = lfw.subset(chosen)
    pixels = load_crops(some, CROP, 1, FERPLUS_FRAMING, data_folder(None) / "framed")
    network = build(name)
    network.start_from(START)
    features = network.features(scale_pixels(torch.from_numpy(np.array(pixels)))).mean(dim=(2, 3))
    alike = torch.nn.functional.normalize(features - features.mean(dim=0), dim=1)
    pairs = np.triu_indices(len(chosen), 1)
    same = (people[chosen][:, None] == people[chosen])[pairs]
    ranks = (alike @ alike.T).numpy()[pairs].argsort().argsort()
    auc = (ranks[same].mean() - (same.sum() - 1) / 2) / (~same).sum()
    assert auc > at_least
