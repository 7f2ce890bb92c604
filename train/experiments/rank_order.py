"""How often the model is more confident of a face than of a blend made from it.

    python -m train.experiments.rank_order --model ferplus-fp32

Every face of one half of FERPlus valid is the upper half of one blend and the lower half of
another. A *clear* pair has two different labels, and each face has at least 0.7 of the votes: there
a model that reproduced the votes would have 100 %. On all pairs it would not, because many faces
have split votes themselves.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from calib.errors import exit_on_error
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from train.blend import blend_faces
from train.data.crops import load_crops
from train.data.datasets import FaceSet, Half, data_folder, load_dataset, validation_half

Confidences = NDArray[np.floating[Any]]
BATCH = 256
CLEAR = 0.7  # share of the votes


def draw_pairs(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The faces for the upper and the lower halves, the same pairs in every run."""
    order = np.random.default_rng(0).permutation(count)
    return order, np.roll(order, 1)


def are_clear(faces: FaceSet) -> NDArray[np.bool_]:
    """Which of the pairs are clear."""
    assert faces.labels is not None
    assert faces.votes is not None
    upper, lower = draw_pairs(len(faces))
    peaks = faces.votes.max(axis=1) / faces.votes.sum(axis=1)
    different = faces.labels[upper] != faces.labels[lower]
    return np.asarray(different & (peaks[upper] >= CLEAR) & (peaks[lower] >= CLEAR))


def blend_pairs(faces: NDArray[np.uint8]) -> NDArray[np.uint8]:
    upper, lower = draw_pairs(len(faces))
    blended: NDArray[np.uint8] = blend_faces(
        torch.from_numpy(faces[upper]), torch.from_numpy(faces[lower])
    ).numpy()
    return blended


def is_above(blends: Confidences, upper: Confidences, lower: Confidences) -> NDArray[np.bool_]:
    """Whether a pair's upper and lower face have more confidence than its blend, (2, n).

    The mean is the rank order.
    """
    return np.stack([upper > blends, lower > blends])


def compare_with_blends(artifact: Artifact, faces: NDArray[np.uint8]) -> NDArray[np.bool_]:
    with Classifier(artifact, torch.get_num_threads()) as classifier:
        confidence, blend_confidence = (
            np.concatenate(
                [
                    classifier.classify(part).probabilities.max(axis=1)
                    for part in np.array_split(pictures, max(1, len(pictures) // BATCH))
                ]
            )
            for pictures in (faces, blend_pairs(faces))
        )
    upper, lower = draw_pairs(len(faces))
    return is_above(blend_confidence, confidence[upper], confidence[lower])


def main(
    model: Annotated[
        str, typer.Option(help="An embedded model's name, or an .onnx file.")
    ] = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    half: Annotated[Half, typer.Option(help="Half of FERPlus valid.")] = "choose",
) -> None:
    """Print the share of (face, blend) pairs in which the face has the higher confidence."""
    artifact, folder = load_artifact(model), data_folder(data)
    crop = artifact.card.crop
    faces = validation_half(load_dataset("ferplus", folder, "valid"), half)
    pixels = load_crops(faces, crop.size, crop.channels, None, folder / "framed")
    above, clear = compare_with_blends(artifact, pixels), are_clear(faces)
    print(f"{artifact.card.name} on {faces.name}: face above blend in")
    print(f"  {above[:, clear].mean():.1%} of {2 * clear.sum():,} clear pairs")
    print(f"  {above.mean():.1%} of {above.size:,} pairs")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
