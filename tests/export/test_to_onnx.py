"""A network in torch and its model file agree, or there is no file."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch.optim import AdamW

import export.to_onnx
from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.temperature import fit_temperature
from export.faces import LabelledFaces, labelled_faces
from export.predict import predict
from export.to_onnx import (
    Exported,
    calibrate_network,
    check_parity,
    export_checkpoint,
    export_network,
    to_onnx,
)
from rankotom_edge.model.artifact import TEMPERATURE, Artifact, read_artifact
from rankotom_edge.model.card import FacesUsed, ModelCard
from rankotom_edge.model.onnx_runtime import open_session
from train.augment import scale_pixels
from train.checkpoint import save_checkpoint
from train.data.datasets import data_folder, load_dataset, validation_half
from train.networks import ResNet, build_network
from train.recipe import EDGE_FERPLUS, Recipe

# What ONNX Runtime, its quantizer and TensorRT all take.
OPERATORS = {
    "Add", "Cast", "Concat", "Constant", "Conv", "Div", "Gather", "Gemm", "MatMul", "Mul",
    "ReduceMean", "Relu", "Reshape", "Softmax", "Split", "Squeeze", "Sub",
}  # fmt: skip
NARROW = replace(EDGE_FERPLUS, network="edge-narrow", face_recognition=False)

CACHE = data_folder(None)
needs_ferplus = pytest.mark.skipif(
    not (CACHE / "FERPlus" / "fer2013new.csv").exists(), reason=f"FERPlus is not in {CACHE}"
)


def noise(count: int, size: int = 32) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (count, 1, size, size), dtype=np.uint8)


def labelled(count: int, seed: int) -> LabelledFaces:
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 256, (count, 1, 32, 32), dtype=np.uint8)
    labels = random.integers(0, 8, count)
    return LabelledFaces(FacesUsed(f"noise/{seed}", count, "3" * 64), pixels, labels, None)


def export_tiny(
    network: ResNet, card: ModelCard, choose: LabelledFaces, report: LabelledFaces, output: Path
) -> Exported:
    calibrated = calibrate_network(
        network, card.crop, card.labels, choose, report, mirror=card.mirror
    )
    card = replace(
        card,
        temperature=calibrated.temperature,
        offsets=calibrated.offsets,
        evaluation=calibrated.evaluation,
    )
    return export_network(calibrated, card, report.pixels, output)


def run(model: onnx.ModelProto, faces: np.ndarray) -> list[np.ndarray]:
    session = open_session(model.SerializeToString())
    return list(session.run(["logits", "probabilities", "evidence"], {"faces": faces}))


@pytest.mark.parametrize("count", [1, 5])
def test_the_graph_answers_as_torch_does(
    tiny_network: ResNet, tiny_card: ModelCard, count: int
) -> None:
    faces = noise(count)
    logits, probabilities, evidence = run(
        to_onnx(tiny_network, tiny_card.crop, mirror=False), faces
    )
    with torch.inference_mode():
        features = tiny_network.features(scale_pixels(torch.from_numpy(faces)))
        expected = tiny_network.classify(features)
        maps = tiny_network.evidence(features)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    np.testing.assert_allclose(probabilities, expected.softmax(dim=1), atol=1e-6)
    np.testing.assert_allclose(evidence, maps, atol=1e-5)


def test_padding_moves_into_the_convolutions_and_changes_no_answer(tiny_card: ModelCard) -> None:
    torch.manual_seed(0)
    network = build_network("edge-dlib", channels=1, classes=8, dropout=0.0).eval()
    model = to_onnx(network, replace(tiny_card.crop, size=48), mirror=False)
    operators = {node.op_type for node in model.graph.node}
    assert operators.isdisjoint({"Pad", "ConstantOfShape", "AveragePool", "Resize"})
    faces = noise(3, size=48)
    with torch.inference_mode():
        expected = network(scale_pixels(torch.from_numpy(faces)))
    np.testing.assert_allclose(run(model, faces)[0], expected, atol=1e-5)


@pytest.mark.parametrize("count", [1, 5])
def test_with_mirror_the_answer_is_the_average_over_both_views(
    tiny_network: ResNet, tiny_card: ModelCard, count: int
) -> None:
    faces = noise(count)
    logits, _, evidence = run(to_onnx(tiny_network, tiny_card.crop, mirror=True), faces)
    pixels = scale_pixels(torch.from_numpy(faces))
    with torch.inference_mode():
        views = [tiny_network.features(view) for view in (pixels, pixels.flip(-1))]
        expected = sum(tiny_network.classify(view) for view in views) / 2
        straight, turned = (tiny_network.evidence(view) for view in views)
    assert isinstance(expected, torch.Tensor)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    np.testing.assert_allclose(evidence, (straight + turned.flip(-1)) / 2, atol=1e-5)


def test_only_with_mirror_a_face_and_its_mirror_image_get_one_answer(
    tiny_network: ResNet, tiny_card: ModelCard
) -> None:
    faces = noise(4)
    turned = np.ascontiguousarray(faces[..., ::-1])
    for mirror in (True, False):
        model = to_onnx(tiny_network, tiny_card.crop, mirror=mirror)
        assert np.allclose(run(model, faces)[0], run(model, turned)[0], atol=1e-5) is mirror


def test_the_evidence_adds_up_to_the_logits(tiny_network: ResNet, tiny_card: ModelCard) -> None:
    logits, _, evidence = run(to_onnx(tiny_network, tiny_card.crop, mirror=True), noise(3))
    bias = tiny_network.fc.bias.detach().numpy()
    np.testing.assert_allclose(evidence.mean(axis=(2, 3)) + bias, logits, atol=1e-5)


@pytest.mark.parametrize("mirror", [True, False])
def test_the_graph_is_one_that_every_runtime_takes(
    tiny_network: ResNet, tiny_card: ModelCard, mirror: bool
) -> None:
    model = to_onnx(tiny_network, tiny_card.crop, mirror=mirror)
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
    assert {node.op_type for node in model.graph.node} <= OPERATORS
    (faces,) = model.graph.input
    dimensions = faces.type.tensor_type.shape.dim
    assert faces.type.tensor_type.elem_type == onnx.TensorProto.UINT8
    assert dimensions[0].dim_param == "n"
    assert [dimension.dim_value for dimension in dimensions[1:]] == [1, 32, 32]


def test_batch_norm_is_folded_and_layers_keep_their_names(
    tiny_network: ResNet, tiny_card: ModelCard
) -> None:
    model = to_onnx(tiny_network, tiny_card.crop, mirror=True)
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    in_torch = [
        name for name, module in tiny_network.named_modules() if isinstance(module, torch.nn.Conv2d)
    ]
    assert sorted(node.name for node in convolutions) == sorted(in_torch)
    held = {initializer.name for initializer in model.graph.initializer}
    for node in convolutions:
        assert list(node.input[1:]) == [f"{node.name}.weight", f"{node.name}.bias"]
        assert set(node.input[1:]) <= held


def test_layers_with_equal_weights_have_each_their_own(tiny_card: ModelCard) -> None:
    """A fresh network's biases are all 0, and the exporter would store them once."""
    fresh = build_network("edge-narrow", channels=1, classes=8, dropout=0.0)
    model = to_onnx(fresh, tiny_card.crop, mirror=False)
    assert "Identity" not in {node.op_type for node in model.graph.node}
    held = [initializer.name for initializer in model.graph.initializer]
    assert {"layer1.0.conv1.bias", "layer1.1.conv1.bias"} <= set(held)
    assert len(held) == len(set(held))


def test_the_temperature_is_one_float_in_the_graph(
    tiny_network: ResNet, tiny_card: ModelCard
) -> None:
    model = to_onnx(tiny_network, tiny_card.crop, mirror=True)
    (temperature,) = (held for held in model.graph.initializer if held.name == TEMPERATURE)
    assert temperature.data_type == onnx.TensorProto.FLOAT
    assert numpy_helper.to_array(temperature) == 1.0


def test_an_export_is_silent(
    tiny_network: ResNet, tiny_card: ModelCard, capfd: pytest.CaptureFixture[str]
) -> None:
    to_onnx(tiny_network, tiny_card.crop, mirror=True)
    assert capfd.readouterr() == ("", "")


def test_the_same_network_gives_the_same_file(
    tiny_network: ResNet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    choose, report = labelled(30, 0), labelled(30, 1)
    for name in ("one", "two"):
        export_tiny(tiny_network, tiny_card, choose, report, tmp_path / f"{name}.onnx")
    one, two = ((tmp_path / f"{name}.onnx").read_bytes() for name in ("one", "two"))
    assert one == two


def test_the_temperature_is_fitted_on_one_half_and_measured_on_the_other(
    tiny_network: ResNet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    choose, report = labelled(60, 0), labelled(50, 1)
    exported = export_tiny(tiny_network, tiny_card, choose, report, tmp_path / "tiny.onnx")
    card = exported.artifact.card
    logits = predict(exported.artifact, choose).logits
    assert logits is not None
    assert card.temperature == pytest.approx(fit_temperature(logits, choose.labels), rel=1e-4)
    assert card.evaluation.n == 50
    measured = predict(exported.artifact, report)
    assert card.evaluation.metrics["accuracy"].value == pytest.approx(
        measured.correct.mean(), abs=1e-6
    )


def test_a_temperature_at_its_bound_is_a_caveat(
    tiny_network: ResNet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    """Where the labels are the network's own answers, colder is always better; else hotter."""
    report, chosen = labelled(30, 1), labelled(30, 0)
    settled = export_tiny(tiny_network, tiny_card, labelled(60, 0), report, tmp_path / "1.onnx")
    assert settled.caveat is None
    with torch.inference_mode():
        pixels = scale_pixels(torch.from_numpy(chosen.pixels))
        logits = (tiny_network(pixels) + tiny_network(pixels.flip(-1))).numpy()
    for labels, words in (
        (logits.argmax(axis=1), "bound of 0.05: the network is right"),
        (logits.argmin(axis=1), "bound of 20: the network knows too little"),
    ):
        choose = replace(chosen, labels=labels)
        exported = export_tiny(tiny_network, tiny_card, choose, report, tmp_path / "2.onnx")
        assert exported.caveat is not None
        assert "not calibrated. On the 30 faces of noise/0" in exported.caveat
        assert words in exported.caveat


def test_a_graph_that_disagrees_with_torch_is_not_kept(
    tiny_network: ResNet,
    tiny_card: ModelCard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = to_onnx(tiny_network, tiny_card.crop, mirror=True)
    (bias,) = (held for held in model.graph.initializer if held.name == "layer3.0.conv1.bias")
    bias.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(bias) + 1, bias.name))
    monkeypatch.setattr(export.to_onnx, "to_onnx", lambda *_, **__: model)
    (tmp_path / "model.onnx").write_text("the one from before")
    with pytest.raises(RankotomError, match="disagrees with torch"):
        export_tiny(
            tiny_network, tiny_card, labelled(30, 0), labelled(30, 1), tmp_path / "model.onnx"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_text() == "the one from before"


def test_logits_that_are_no_numbers_are_refused(
    tiny_network: ResNet, tiny_artifact: Artifact
) -> None:
    broken = build_network("edge-narrow", channels=1, classes=8, dropout=0.0).eval()
    torch.nn.init.constant_(broken.fc.bias, float("nan"))
    with pytest.raises(RankotomError, match="disagrees"):
        check_parity(broken, tiny_artifact, noise(2))


def saved_run(path: Path, recipe: Recipe = NARROW, classes: int = 8) -> Path:
    torch.manual_seed(0)
    network = build_network("edge-narrow", channels=1, classes=classes, dropout=0.0)
    averaged = build_network("edge-narrow", channels=1, classes=classes, dropout=0.0)
    save_checkpoint(
        path,
        recipe=recipe,
        epoch=1,
        network=network,
        averaged=averaged,
        optimizer=AdamW(network.parameters()),
        method={"thresholds": torch.zeros(classes)},
    )
    return path


@pytest.fixture
def small_ferplus(made_ferplus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path / "cache"))
    return made_ferplus


def test_a_checkpoint_becomes_a_file_that_says_where_it_comes_from(
    small_ferplus: Path, tmp_path: Path
) -> None:
    checkpoint = saved_run(tmp_path / "checkpoint.safetensors")
    exported = export_checkpoint(checkpoint, tmp_path / "model.onnx", data=small_ferplus)
    card = exported.artifact.card
    assert exported.parity < 1e-3
    assert (card.name, card.labels, card.precision, card.mirror) == (
        "model", EMOTIONS, "fp32", True,
    )  # fmt: skip
    assert (card.crop.size, card.crop.channels) == (48, 1)
    assert card.recipe["name"] == "edge-ferplus"
    assert card.parent == hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    assert [(used.name, used.count) for used in card.calibrated_on] == [
        ("ferplus/valid/choose", 20)
    ]
    assert (card.measured_on.name, card.measured_on.count) == ("ferplus/valid/report", 20)
    assert card.measured_on.sha256 != card.calibrated_on[0].sha256
    assert "FERPlus" in card.licence
    assert "LFW" not in card.licence


def test_it_is_the_averaged_weights_that_are_exported(small_ferplus: Path, tmp_path: Path) -> None:
    checkpoint = saved_run(tmp_path / "checkpoint.safetensors")
    export_checkpoint(checkpoint, tmp_path / "model.onnx", data=small_ferplus, mirror=False)
    torch.manual_seed(0)
    build_network("edge-narrow", channels=1, classes=8, dropout=0.0)
    averaged = build_network("edge-narrow", channels=1, classes=8, dropout=0.0).eval()
    faces = noise(3, size=48)
    (logits,) = open_session(tmp_path / "model.onnx").run(["logits"], {"faces": faces})
    with torch.inference_mode():
        expected = averaged(scale_pixels(torch.from_numpy(faces))).numpy()
    offsets = read_artifact(tmp_path / "model.onnx").card.offsets
    np.testing.assert_allclose(logits, expected + offsets, atol=1e-4)


def test_weights_that_are_not_of_the_recipes_network_are_an_error(
    small_ferplus: Path, tmp_path: Path
) -> None:
    wrong = saved_run(tmp_path / "wrong.safetensors", replace(NARROW, network="edge"))
    with pytest.raises(RankotomError, match=r"wrong\.safetensors are not of a edge network"):
        export_checkpoint(wrong, tmp_path / "model.onnx", data=small_ferplus)
    seven = saved_run(tmp_path / "seven.safetensors", classes=7)
    with pytest.raises(RankotomError, match="with 8 classes"):
        export_checkpoint(seven, tmp_path / "model.onnx", data=small_ferplus)
    assert not (tmp_path / "model.onnx").exists()


@needs_ferplus
def test_parity_holds_on_real_faces(
    tiny_network: ResNet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    valid = load_dataset("ferplus", CACHE, "valid").subset(np.arange(0, 3579, 40))
    choose, report = (
        labelled_faces(validation_half(valid, which), tiny_card.crop, EMOTIONS, tmp_path / "framed")
        for which in ("choose", "report")
    )
    exported = export_tiny(tiny_network, tiny_card, choose, report, tmp_path / "tiny.onnx")
    assert exported.parity < 1e-4
    assert exported.artifact.card.evaluation.metrics["top2_match"].value is not None
