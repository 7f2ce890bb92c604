"""Whether confidence is in the paper's order: a face above the blends that it is half of.

    python -m train.experiments.rank_order --model ferplus-fp32

On the reporting half of FERPlus valid, each face once above and once below another.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from calib.errors import exit_on_error
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from train.blend import blend_faces
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset, validation_half

Confidences = NDArray[np.float64]
AT_ONCE = 256


def held_out_pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each face once above and once below, with a partner drawn once and for all."""
    order = np.random.default_rng(0).permutation(count)
    return order, np.roll(order, 1)


def rank_order(blends: Confidences, upper: Confidences, lower: Confidences) -> float:
    """The share of (original, blend) pairs in which the original has the higher confidence."""
    return float(np.mean(np.concatenate([upper > blends, lower > blends])))


def blends_of(faces: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The blend of each of the held-out pairs."""
    upper, lower = held_out_pairs(len(faces))
    blended: NDArray[np.uint8] = blend_faces(
        torch.from_numpy(faces[upper]), torch.from_numpy(faces[lower])
    ).numpy()
    return blended


def rank_order_of(artifact: Artifact, faces: NDArray[np.uint8]) -> float:
    with Classifier(artifact, torch.get_num_threads()) as classifier:
        confidence, of_blends = (
            np.concatenate(
                [
                    classifier.classify(part).probabilities.max(axis=1).astype(np.float64)
                    for part in np.array_split(shown, max(1, len(shown) // AT_ONCE))
                ]
            )
            for shown in (faces, blends_of(faces))
        )
    upper, lower = held_out_pairs(len(faces))
    return rank_order(of_blends, confidence[upper], confidence[lower])


def main(
    model: Annotated[str, typer.Option(help="An embedded name or an .onnx file.")] = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    """The share of (face, blend) pairs in which the model is surer of the face."""
    artifact, folder = load_artifact(model), data_folder(data)
    crop = artifact.card.crop
    report = validation_half(load_dataset("ferplus", folder, "valid"), "report")
    faces = load_crops(report, crop.size, crop.channels, None, folder / "framed")
    share = rank_order_of(artifact, faces)
    print(f"{artifact.card.name}: surer of the face in {share:.1%} of {2 * len(faces):,} pairs")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
