"""Export a checkpoint as an FP32 model file: calibrated, measured, and checked against torch."""

import copy
import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.utils import Extractor
from torch import Tensor, nn

from calib.errors import RankotomError
from calib.evaluation import Evaluation, evaluate
from calib.offsets import fit_offsets
from calib.predictions import Predictions
from calib.temperature import at_bound, fit_temperature, softmax
from export.artifact_writer import stage_artifact
from export.faces import LabelledFaces, labelled_faces
from export.predict import run_model
from rankotom_edge import __version__
from rankotom_edge.faces.crop import FERPLUS_FRAMING, Framing
from rankotom_edge.model.artifact import (
    EVIDENCE,
    INPUT,
    LOGITS,
    PROBABILITIES,
    TEMPERATURE,
    Artifact,
    read_artifact,
)
from rankotom_edge.model.card import CropContract, FacesUsed, ModelCard
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.onnx_runtime import open_session
from train.augment import scale_pixels
from train.checkpoint import Checkpoint, load_checkpoint
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset, validation_half
from train.networks import ImportanceLinear, Network, build_network, find_network
from train.recipe import Recipe
from train.teachers.dlib import Dlib
from train.training_set import dataset_framing

OPSET = 17
OUTPUTS = (LOGITS, PROBABILITIES, EVIDENCE)
# Float32 sums in another order differ by about 1e-5 here, a wrong graph by whole logits.
LOGIT_TOLERANCE = 1e-3
PROBABILITY_TOLERANCE = 1e-5
PARITY_FACES = 256

LICENCE = (
    "For research: the weights were learned from {sets}, whose pictures were collected and shared "
    "for research. The code is Apache-2.0."
)
TITLES = {"ferplus": "FERPlus (FER2013)", "rafdb": "RAF-DB", "affectnet": "AffectNet"}


@dataclass(frozen=True, eq=False)
class CalibratedNetwork:
    network: Network  # with the offsets in the bias of its head, so that every runtime has them
    offsets: tuple[float, ...]
    temperature: float
    evaluation: Evaluation  # on the reporting half of valid
    caveat: str | None  # why its confidence is not to be trusted


@dataclass(frozen=True, eq=False)
class Exported:
    artifact: Artifact
    parity: float  # the largest difference of a logit from torch's
    caveat: str | None


def export_checkpoint(
    checkpoint_path: Path, output: Path, *, data: Path | None = None, mirror: bool = True
) -> Exported:
    """Write the averaged weights of a run as a model file.

    Offsets and temperature are fitted on the choosing half of valid and measured on the reporting
    half. The file is written only if it agrees with torch on those faces.
    """
    checkpoint = load_checkpoint(checkpoint_path)
    recipe = read_recipe(checkpoint, checkpoint_path)
    folder, cache = data_folder(data), data_folder(None) / "framed"
    valid = load_dataset(recipe.dataset, folder, "valid", check_count=False)  # train counted them
    network = load_network(checkpoint, recipe, len(valid.classes), checkpoint_path)
    crop = CropContract(recipe.size, recipe.channels, find_framing(recipe, folder, cache))
    choose, report = (
        labelled_faces(validation_half(valid, which), crop, valid.classes, cache)
        for which in ("choose", "report")
    )
    calibrated = calibrate_network(network, crop, valid.classes, choose, report, mirror=mirror)
    card = ModelCard(
        name=output.stem,
        labels=valid.classes,
        crop=crop,
        mirror=mirror,
        temperature=calibrated.temperature,
        precision="fp32",
        recipe=checkpoint.recipe,
        parent=hashlib.sha256(checkpoint_path.read_bytes()).hexdigest(),
        calibrated_on=(choose.used,),
        measured_on=report.used,
        evaluation=calibrated.evaluation,
        licence=write_licence(checkpoint.recipe),
        created_by=f"rankotom-edge {__version__}",
        offsets=calibrated.offsets,
    )
    return export_network(calibrated, card, report.pixels[:PARITY_FACES], output)


def calibrate_network(
    network: Network,
    crop: CropContract,
    classes: tuple[str, ...],
    choose: LabelledFaces,
    report: LabelledFaces,
    *,
    mirror: bool,
) -> CalibratedNetwork:
    """Fit offsets and temperature on one half, and evaluate on the other."""

    def compute_logits(network: Network, faces: LabelledFaces, title: str) -> NDArray[np.float32]:
        session = open_session(to_onnx(network, crop, mirror=mirror).SerializeToString())
        return run_model(session, faces.pixels, (LOGITS,), title)[0]

    logits = compute_logits(network, choose, "calibrating")
    offsets = fit_offsets(logits, choose.labels).astype(np.float32)
    temperature = fit_temperature(logits + offsets, choose.labels)
    network = copy.deepcopy(network)
    add_offsets(network.fc, torch.from_numpy(offsets))
    logits = compute_logits(network, report, "measuring")
    evaluation = evaluate(
        Predictions.from_logits(logits, report.labels, classes, report.votes, temperature),
        temperature=temperature,
    )
    return CalibratedNetwork(
        network=network,
        offsets=tuple(round(float(each), 6) for each in offsets),
        temperature=temperature,
        evaluation=evaluation,
        caveat=_temperature_caveat(temperature, choose.used),
    )


def export_network(
    calibrated: CalibratedNetwork, card: ModelCard, faces: NDArray[np.uint8], output: Path
) -> Exported:
    """Write the file if it agrees with torch on these faces."""
    model = to_onnx(calibrated.network, card.crop, mirror=card.mirror)
    with stage_artifact(model, card, output) as artifact:
        parity = check_parity(calibrated.network, artifact, faces)
    return Exported(read_artifact(output), parity, calibrated.caveat)


def _temperature_caveat(temperature: float, fitted_on: FacesUsed) -> str | None:
    """The fit has no optimum where logits are misleading (hotter is always better) or never wrong
    (colder is)."""
    if not at_bound(temperature):
        return None
    why = (
        "the network knows too little about them; train it for longer, or look at the labels"
        if temperature > 1
        else "the network is right about all of them; they are too few, or it has seen them before"
    )
    return (
        f"this model is not calibrated. On the {fitted_on.count:,} faces of {fitted_on.name} its "
        f"temperature ran into its bound of {temperature:g}: {why}."
    )


def add_offsets(head: nn.Linear, offsets: Tensor) -> None:
    to_add = head.get_buffer("offsets") if isinstance(head, ImportanceLinear) else head.bias.data
    to_add += offsets


class DeployedNetwork(nn.Module):
    """All that the model file computes: uint8 faces in; logits, probabilities and evidence out.

    With ``mirror`` a batch of n faces becomes one of 2n, with their mirror images. Averaging the
    features, mirrored back, averages logits and evidence too, because those are linear in them, and
    the head runs only once.
    """

    def __init__(self, network: Network, crop: CropContract, *, mirror: bool) -> None:
        super().__init__()
        self.network, self.mirror = network, mirror
        with torch.inference_mode():
            maps = network.features(torch.zeros(1, crop.channels, crop.size, crop.size))
        # Plain numbers, so that all shapes of the graph except n are fixed.
        self.map_shape = tuple(maps.shape[1:])
        self.register_buffer(TEMPERATURE, torch.ones(()))

    def forward(self, faces: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        pixels = scale_pixels(faces)
        if self.mirror:
            pixels = torch.cat([pixels, mirror_maps(pixels, int(pixels.shape[-1]))])
        features = self.network.features(pixels)
        if self.mirror:
            straight, mirrored = features.reshape(2, -1, *self.map_shape).unbind()
            features = (straight + mirror_maps(mirrored, self.map_shape[-1])) * 0.5
        logits = self.network.classify(features)
        probabilities = torch.softmax(logits / self.get_buffer(TEMPERATURE), dim=1)
        return logits, probabilities, self.evidence(features)

    def evidence(self, features: Tensor) -> Tensor:
        """``Network.evidence`` as a MatMul, which runtimes support better than its Einsum."""
        weight = self.network.fc.weight
        channels, height, width = self.map_shape
        maps = weight @ features.reshape(-1, channels, height * width)
        return maps.reshape(-1, len(weight), height, width)


def mirror_maps(maps: Tensor, width: int) -> Tensor:
    """Swap left and right with a Gather: TensorRT may refuse a slice with a step of -1."""
    return maps.index_select(3, torch.arange(width - 1, -1, -1))


def to_onnx(network: Network, crop: CropContract, *, mirror: bool) -> onnx.ModelProto:
    """The graph at a temperature of 1, batch norm folded into the convolutions."""
    if isinstance(network, Dlib):
        network = copy.deepcopy(network)
        network.merge_for_export()
    graph = DeployedNetwork(network.eval(), crop, mirror=mirror).eval()
    example = torch.zeros(2, crop.channels, crop.size, crop.size, dtype=torch.uint8)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # A deprecation warning. The newer exporter writes opset 18 and folds a temperature of 1.
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
    merge_pads(model)
    classes, (_, height, width) = len(network.fc.weight), graph.map_shape
    model.graph.output[OUTPUTS.index(EVIDENCE)].CopyFrom(
        helper.make_tensor_value_info(EVIDENCE, TensorProto.FLOAT, ["n", classes, height, width])
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def merge_pads(model: onnx.ModelProto) -> None:
    """Let convolutions pad their input themselves, in place.

    In INT8 a Pad of its own costs several copies. Only paddings with zeros, whose sizes the
    exporter computes from constants, come before a convolution.
    """
    graph = model.graph
    pads = {node.output[0]: node for node in graph.node if node.op_type == "Pad"}
    parts = Extractor(onnx.shape_inference.infer_shapes(model)) if pads else None
    for node in graph.node:
        if node.op_type == "Conv" and node.input[0] in pads and parts is not None:
            pad = pads[node.input[0]]
            constants = ReferenceEvaluator(parts.extract_model([], [pad.input[1]]))
            (sizes,) = constants.run(None, {})
            # (batch, channels, top, left, then the same for the end)
            added = np.asarray(sizes).reshape(2, -1)[:, 2:].ravel().tolist()
            own = next(each for each in node.attribute if each.name == "pads")
            total = [one + other for one, other in zip(own.ints, added, strict=True)]
            own.CopyFrom(helper.make_attribute("pads", total))
            node.input[0] = pad.input[0]
    remove_unused(graph)


def remove_unused(graph: onnx.GraphProto) -> None:
    """Remove nodes that nothing uses, from the last to the first, in place."""
    used = {output.name for output in graph.output}
    for node in reversed(list(graph.node)):
        if used.isdisjoint(node.output):
            graph.node.remove(node)
        else:
            used.update(node.input)


def name_layers(model: onnx.ModelProto) -> None:
    """Name convolutions and their weights as torch does: ``layer2.0.downsample.0``.

    Folding replaces names with numbers, but a report on quantization must name layers. The exporter
    also stores equal tensors once and refers to them by Identity; here each layer gets its own.
    """
    graph = model.graph
    tensors = {initializer.name: initializer for initializer in graph.initializer}
    references = [
        node for node in graph.node if node.op_type == "Identity" and node.input[0] in tensors
    ]
    shared = {node.output[0]: node.input[0] for node in references}
    for node in graph.node:
        for position, name in enumerate(node.input):
            node.input[position] = shared.get(name, name)
        if node.op_type == "Conv":
            node.name = layer_name(node.name)
            for position, kind in list(enumerate(("", "weight", "bias")))[1 : len(node.input)]:
                own = graph.initializer.add()
                own.CopyFrom(tensors[node.input[position]])
                node.input[position] = own.name = f"{node.name}.{kind}"
    for node in references:
        graph.node.remove(node)
    used = {name for node in graph.node for name in node.input}
    for initializer in tensors.values():
        if initializer.name not in used:
            graph.initializer.remove(initializer)


def layer_name(scoped: str) -> str:
    """``/layer2/layer2.0/conv1/Conv`` is ``layer2.0.conv1``: a scope repeats its outer scope."""
    scopes = scoped.strip("/").split("/")[:-1]
    return ".".join(
        scope
        for scope, inner in zip(scopes, [*scopes[1:], ""], strict=True)
        if not inner.startswith(f"{scope}.")
    )


@torch.inference_mode()
def check_parity(network: Network, artifact: Artifact, faces: NDArray[np.uint8]) -> float:
    """The largest difference of a logit between the file and torch; an error if it is too large."""
    pixels = scale_pixels(torch.from_numpy(np.array(faces)))
    views = [pixels, pixels.flip(-1)] if artifact.card.mirror else [pixels]
    expected = torch.stack([network.eval()(view) for view in views]).mean(dim=0).numpy()
    scores = Classifier(artifact).classify(np.ascontiguousarray(faces))
    logit_error = float(np.abs(scores.logits - expected).max())
    flips = int(np.count_nonzero(scores.logits.argmax(axis=1) != expected.argmax(axis=1)))
    calibrated = softmax(scores.logits, artifact.card.temperature)
    share_error = float(np.abs(scores.probabilities - calibrated).max())
    # In this form NaN is refused too.
    if not (logit_error < LOGIT_TOLERANCE and flips == 0 and share_error < PROBABILITY_TOLERANCE):
        raise RankotomError(
            f"The exported graph disagrees with torch on {len(faces)} faces: logits by up to "
            f"{logit_error:.2g}, probabilities by up to {share_error:.2g}, {flips} top emotions. "
            "Nothing was written; try the torch and onnxruntime of constraints.txt."
        )
    return logit_error


def read_recipe(checkpoint: Checkpoint, path: Path) -> Recipe:
    """Only the fields that an export needs; the card gets the whole recipe."""
    needed = ("name", "dataset", "network", "size", "channels")
    missing = [key for key in needed if key not in checkpoint.recipe]
    if missing:
        raise RankotomError(f"The recipe in {path} has no {', '.join(missing)}.")
    fields = {key: checkpoint.recipe[key] for key in needed}
    return Recipe(**fields, method=checkpoint.recipe.get("method", "rank-o-tom"))


def load_network(checkpoint: Checkpoint, recipe: Recipe, classes: int, path: Path) -> Network:
    network = build_network(
        find_network(recipe.network),
        channels=recipe.channels,
        classes=classes,
        dropout=0.0,
        importance=recipe.method == "scn",
    )
    try:
        network.load_state_dict(checkpoint.weights)
    except RuntimeError as error:
        raise RankotomError(
            f"The weights in {path} are not of a {recipe.network} network with {classes} classes, "
            f"as its recipe says: {str(error).splitlines()[-1].strip()}"
        ) from error
    return network.eval()


def find_framing(recipe: Recipe, folder: Path, cache: Path) -> Framing:
    """The framing that the run was trained with."""
    if recipe.dataset == "ferplus":
        return FERPLUS_FRAMING
    train = load_dataset(recipe.dataset, folder, "train", check_count=False)
    return dataset_framing(recipe, load_crops(train, recipe.size, recipe.channels, None, cache))


def write_licence(recipe: Mapping[str, Any]) -> str:
    sets = [TITLES[recipe["dataset"]]] + ["LFW"] * bool(recipe.get("face_recognition"))
    return LICENCE.format(sets=" and ".join(sets))
