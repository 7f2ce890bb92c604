"""From a checkpoint to the FP32 model file, with its temperature fitted and its graph checked."""

import copy
import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper
from torch import Tensor, nn

from calib.errors import RankotomError
from calib.evaluation import Evaluation, evaluate
from calib.offsets import fit_offsets
from calib.predictions import Predictions
from calib.temperature import at_bound, fit_temperature, softmax
from export.artifact import TEMPERATURE, figures_of, written
from export.predict import LabelledFaces, answers, labelled_faces
from rankotom_edge import __version__
from rankotom_edge.artifact import EVIDENCE, INPUT, LOGITS, PROBABILITIES, Artifact, read_artifact
from rankotom_edge.card import CropContract, FacesUsed, ModelCard
from rankotom_edge.classifier import Classifier
from rankotom_edge.crop import FERPLUS_FRAMING, Framing
from rankotom_edge.runtime import open_session
from train.align import framed
from train.augment import scale_pixels
from train.checkpoint import Checkpoint, load_checkpoint
from train.datasets import data_folder, half, load_dataset
from train.networks import Network, build_network, find_network
from train.prepare import framing_of
from train.recipe import Recipe

OPSET = 17
OUTPUTS = (LOGITS, PROBABILITIES, EVIDENCE)
# Float32 sums in another order differ by about 1e-5 here; a wrong graph by whole logits.
LOGIT_TOLERANCE = 1e-3
PROBABILITY_TOLERANCE = 1e-5
PARITY_FACES = 256

LICENCE = (
    "For research: the weights were learned from {sets}, whose pictures were collected and shared "
    "for research. The code is Apache-2.0."
)
TITLES = {"ferplus": "FERPlus (FER2013)", "rafdb": "RAF-DB", "affectnet": "AffectNet"}


@dataclass(frozen=True, eq=False)
class Exported:
    artifact: Artifact
    evaluation: Evaluation  # on the reporting half of valid
    parity: float  # the largest difference of a logit from torch's
    caveat: str | None  # why its confidence is not to be trusted


def export_checkpoint(
    checkpoint_path: Path,
    output: Path,
    *,
    data: Path | None = None,
    mirror: bool = True,
    name: str | None = None,
) -> Exported:
    """The averaged weights of a run as a model file.

    Offsets and temperature are fitted on the choosing half of valid, the figures are of the
    reporting half, and the file takes its place only if it agrees with torch on those faces.
    """
    checkpoint = load_checkpoint(checkpoint_path)
    recipe = recipe_of(checkpoint, checkpoint_path)
    folder, cache = data_folder(data), data_folder(None) / "framed"
    valid = load_dataset(recipe.dataset, folder, "valid")
    network = network_of(checkpoint, recipe, len(valid.classes), checkpoint_path)
    crop = CropContract(recipe.size, recipe.channels, framing_for(recipe, folder, cache))
    choose, report = (
        labelled_faces(half(valid, which), crop, valid.classes, cache)
        for which in ("choose", "report")
    )
    card = ModelCard(
        name=name or output.stem,
        labels=valid.classes,
        crop=crop,
        mirror=mirror,
        temperature=1.0,
        precision="fp32",
        recipe=checkpoint.recipe,
        parent=hashlib.sha256(checkpoint_path.read_bytes()).hexdigest(),
        calibrated_on=(choose.used,),
        measured_on=report.used,
        figures={},
        licence=licence_of(checkpoint.recipe),
        created_by=f"rankotom-edge {__version__}",
    )
    return export_network(network, card, choose, report, output)


def export_network(
    network: Network, card: ModelCard, choose: LabelledFaces, report: LabelledFaces, output: Path
) -> Exported:
    """``card`` is complete but for its offsets, temperature and figures."""
    model = to_onnx(network, card.crop, mirror=card.mirror)
    session = open_session(model.SerializeToString())
    (logits,) = answers(session, choose.pixels, (LOGITS,), "calibrating")
    offsets = fit_offsets(logits, choose.labels).astype(np.float32)
    temperature = fit_temperature(logits + offsets, choose.labels)
    # A part of the head, so that every runtime has them.
    network = copy.deepcopy(network)
    network.fc.bias.data += torch.from_numpy(offsets)
    model = to_onnx(network, card.crop, mirror=card.mirror)
    session = open_session(model.SerializeToString())
    (logits,) = answers(session, report.pixels, (LOGITS,), "measuring")
    evaluation = evaluate(
        Predictions.from_logits(logits, report.labels, card.labels, report.votes, temperature),
        temperature=temperature,
    )
    card = replace(
        card,
        temperature=temperature,
        offsets=tuple(round(float(each), 6) for each in offsets),
        figures=figures_of(evaluation),
    )
    with written(model, card, output) as artifact:
        parity = check_parity(network, artifact, report.pixels[:PARITY_FACES])
    return Exported(read_artifact(output), evaluation, parity, caveat(temperature, choose.used))


def caveat(temperature: float, fitted_on: FacesUsed) -> str | None:
    """Hotter is always better where logits mislead, colder where they are never wrong."""
    if not at_bound(temperature):
        return None
    why = (
        "the network knows too little of them; train it for longer, or look at the labels"
        if temperature > 1
        else "the network is right about all of them; they are too few, or it has seen them before"
    )
    return (
        f"this model is not calibrated. On the {fitted_on.count:,} faces of {fitted_on.name} its "
        f"temperature ran into its bound of {temperature:g}: {why}."
    )


class Graph(nn.Module):
    """The whole model file: bytes in; logits, calibrated probabilities and evidence out.

    With ``mirror`` each face is looked at twice, the second time mirrored, in one batch of 2n. The
    features are averaged, the second ones mirrored back: head and evidence are linear in them, so
    this is the average of both, and the head runs once.
    """

    def __init__(self, network: Network, crop: CropContract, *, mirror: bool) -> None:
        super().__init__()
        self.network, self.mirror = network, mirror
        with torch.inference_mode():
            maps = network.features(torch.zeros(1, crop.channels, crop.size, crop.size))
        # Plain numbers, so that the graph has fixed shapes but for n.
        self.map_shape = tuple(maps.shape[1:])
        self.register_buffer(TEMPERATURE, torch.ones(()))

    def forward(self, faces: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        pixels = scale_pixels(faces)
        if self.mirror:
            pixels = torch.cat([pixels, mirrored(pixels, int(pixels.shape[-1]))])
        features = self.network.features(pixels)
        if self.mirror:
            straight, turned = features.reshape(2, -1, *self.map_shape).unbind()
            features = (straight + mirrored(turned, self.map_shape[-1])) * 0.5
        logits = self.network.classify(features)
        probabilities = torch.softmax(logits / self.get_buffer(TEMPERATURE), dim=1)
        return logits, probabilities, self.evidence(features)

    def evidence(self, features: Tensor) -> Tensor:
        """``ResNet.evidence`` as one MatMul, which every runtime knows better than an Einsum."""
        weight = self.network.fc.weight
        channels, height, width = self.map_shape
        maps = weight @ features.reshape(-1, channels, height * width)
        return maps.reshape(-1, len(weight), height, width)


def mirrored(maps: Tensor, width: int) -> Tensor:
    """Left and right swapped, as a Gather: TensorRT takes it where it may refuse a step of -1."""
    return maps.index_select(3, torch.arange(width - 1, -1, -1))


def to_onnx(network: Network, crop: CropContract, *, mirror: bool) -> onnx.ModelProto:
    """The graph at a temperature of 1, batch norm folded into the convolutions."""
    graph = Graph(network.eval(), crop, mirror=mirror).eval()
    example = torch.zeros(2, crop.channels, crop.size, crop.size, dtype=torch.uint8)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # It warns of its age; the newer exporter writes opset 18 and folds a temperature of 1 away.
        warnings.simplefilter("ignore")
        file = Path(folder) / "model.onnx"
        torch.onnx.export(
            graph,
            (example,),
            file,
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: "n"} for name in (INPUT, *OUTPUTS)},
            opset_version=OPSET,
            dynamo=False,
        )
        model = onnx.load(file)
    name_layers(model)
    classes, (_, height, width) = len(network.fc.weight), graph.map_shape
    model.graph.output[OUTPUTS.index(EVIDENCE)].CopyFrom(
        helper.make_tensor_value_info(EVIDENCE, TensorProto.FLOAT, ["n", classes, height, width])
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def name_layers(model: onnx.ModelProto) -> None:
    """Convolutions and their weights by the layer's name in torch: ``layer2.0.downsample.0``.

    Folding leaves numbers for names, and a report on quantization names layers. The exporter also
    stores equal tensors once and points to them by Identity; here each layer has its own again.
    """
    graph = model.graph
    held = {initializer.name: initializer for initializer in graph.initializer}
    pointers = [node for node in graph.node if node.op_type == "Identity" and node.input[0] in held]
    shared = {node.output[0]: node.input[0] for node in pointers}
    for node in graph.node:
        for position, name in enumerate(node.input):
            node.input[position] = shared.get(name, name)
        if node.op_type == "Conv":
            node.name = layer_name(node.name)
            for position, kind in list(enumerate(("", "weight", "bias")))[1 : len(node.input)]:
                own = graph.initializer.add()
                own.CopyFrom(held[node.input[position]])
                node.input[position] = own.name = f"{node.name}.{kind}"
    for node in pointers:
        graph.node.remove(node)
    used = {name for node in graph.node for name in node.input}
    for initializer in held.values():
        if initializer.name not in used:
            graph.initializer.remove(initializer)


def layer_name(scoped: str) -> str:
    """``/layer2/layer2.0/conv1/Conv`` is ``layer2.0.conv1``: a scope repeats the one around it."""
    scopes = scoped.strip("/").split("/")[:-1]
    return ".".join(
        scope
        for scope, inner in zip(scopes, [*scopes[1:], ""], strict=True)
        if not inner.startswith(f"{scope}.")
    )


@torch.inference_mode()
def check_parity(network: Network, artifact: Artifact, faces: NDArray[np.uint8]) -> float:
    """The largest difference of a logit between the file and torch; too large is an error."""
    pixels = scale_pixels(torch.from_numpy(np.array(faces)))
    views = [pixels, pixels.flip(-1)] if artifact.card.mirror else [pixels]
    expected = torch.stack([network.eval()(view) for view in views]).mean(dim=0).numpy()
    scores = Classifier(artifact).classify(np.ascontiguousarray(faces))
    worst = float(np.abs(scores.logits - expected).max())
    flips = int(np.count_nonzero(scores.logits.argmax(axis=1) != expected.argmax(axis=1)))
    calibrated = softmax(scores.logits, artifact.card.temperature)
    apart = float(np.abs(scores.probabilities - calibrated).max())
    # Written so that NaN is refused too.
    if not (worst < LOGIT_TOLERANCE and flips == 0 and apart < PROBABILITY_TOLERANCE):
        raise RankotomError(
            f"The exported graph disagrees with torch on {len(faces)} faces: logits by up to "
            f"{worst:.2g}, {flips} other emotions, probabilities off by up to {apart:.2g}. "
            "Nothing was written; try the torch and onnxruntime of constraints.txt."
        )
    return worst


def recipe_of(checkpoint: Checkpoint, path: Path) -> Recipe:
    """What an export needs to know of the recipe; the rest is only passed on."""
    needed = ("name", "dataset", "network", "size", "channels")
    missing = [key for key in needed if key not in checkpoint.recipe]
    if missing:
        raise RankotomError(f"The recipe in {path} has no {', '.join(missing)}.")
    return Recipe(**{key: checkpoint.recipe[key] for key in needed})


def network_of(checkpoint: Checkpoint, recipe: Recipe, classes: int, path: Path) -> Network:
    network = build_network(
        find_network(recipe.network), channels=recipe.channels, classes=classes, dropout=0.0
    )
    try:
        network.load_state_dict(checkpoint.weights)
    except RuntimeError as error:
        raise RankotomError(
            f"The weights in {path} are not of a {recipe.network} network with {classes} classes, "
            f"as its recipe says: {str(error).splitlines()[-1].strip()}"
        ) from error
    return network.eval()


def framing_for(recipe: Recipe, folder: Path, cache: Path) -> Framing:
    """The framing that the run was trained in."""
    if recipe.dataset == "ferplus":
        return FERPLUS_FRAMING
    train = load_dataset(recipe.dataset, folder, "train")
    return framing_of(recipe, framed(train, recipe.size, recipe.channels, None, cache))


def licence_of(recipe: Mapping[str, Any]) -> str:
    learned = [TITLES[recipe["dataset"]]] + ["LFW"] * bool(recipe.get("face_recognition"))
    return LICENCE.format(sets=" and ".join(learned))
