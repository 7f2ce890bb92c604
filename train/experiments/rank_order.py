"""How often the model is more confident of a face than of a blend made from it.

    python -m train.experiments.rank_order --model ferplus-fp32

Every face of the reporting half of FERPlus valid is the upper half of one blend and the lower half
of another.
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
BATCH = 256


def draw_pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The faces for the upper and the lower halves, the same pairs in every run."""
    order = np.random.default_rng(0).permutation(count)
    return order, np.roll(order, 1)


def rank_order(blends: Confidences, upper: Confidences, lower: Confidences) -> float:
    """The share of (original, blend) pairs in which the original has the higher confidence."""
    return float(np.mean(np.concatenate([upper > blends, lower > blends])))


def blend_pairs(faces: NDArray[np.uint8]) -> NDArray[np.uint8]:
    upper, lower = draw_pairs(len(faces))
    blended: NDArray[np.uint8] = blend_faces(
        torch.from_numpy(faces[upper]), torch.from_numpy(faces[lower])
    ).numpy()
    return blended


def measure_rank_order(artifact: Artifact, faces: NDArray[np.uint8]) -> float:
    with Classifier(artifact, torch.get_num_threads()) as classifier:
        confidence, blend_confidence = (
            np.concatenate(
                [
                    classifier.classify(part).probabilities.max(axis=1).astype(np.float64)
                    for part in np.array_split(pictures, max(1, len(pictures) // BATCH))
                ]
            )
            for pictures in (faces, blend_pairs(faces))
        )
    upper, lower = draw_pairs(len(faces))
    return rank_order(blend_confidence, confidence[upper], confidence[lower])


def main(
    model: Annotated[
        str, typer.Option(help="An embedded model's name, or an .onnx file.")
    ] = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Print the share of (face, blend) pairs in which the face has the higher confidence."""
    artifact, folder = load_artifact(model), data_folder(data)
    crop = artifact.card.crop
    report = validation_half(load_dataset("ferplus", folder, "valid"), "report")
    faces = load_crops(report, crop.size, crop.channels, None, folder / "framed")
    share = measure_rank_order(artifact, faces)
    print(f"{artifact.card.name}: face above blend in {share:.1%} of {2 * len(faces):,} pairs")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
