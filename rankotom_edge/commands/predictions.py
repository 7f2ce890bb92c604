"""The ways to name predictions on the command line, in one place for every command.

A predictions file has the labels inside. A model needs faces: a data set, its folder, a split.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from calib.predictions import Predictions
    from rankotom_edge.artifact import FacesUsed
    from train.datasets import FaceSet

PREDICTIONS_HELP = (
    "[bold].npz[/] or [bold].csv[/] with probabilities or logits, labels and, optionally, votes."
)
MODEL_HELP = "a model ([bold].onnx[/] file or embedded name), which reads the faces below"
FACES = "Faces, for a model"
FILES = (".npz", ".csv")


class Dataset(str, Enum):
    ferplus = "ferplus"
    rafdb = "rafdb"
    affectnet = "affectnet"


class Split(str, Enum):
    train = "train"
    valid = "valid"
    test = "test"


class Half(str, Enum):
    choose = "choose"
    report = "report"


DatasetOption = Annotated[
    Dataset, typer.Option("--dataset", help="The data set.", rich_help_panel=FACES)
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help=(
            "The folder of the data set, or one that holds it. "
            r"[dim]\[default: $RANKOTOM_DATA or ~/.cache/rankotom-edge][/]"
        ),
        show_default=False,
        rich_help_panel=FACES,
    ),
]
SplitOption = Annotated[
    Split, typer.Option("--split", help="The part of the data set.", rich_help_panel=FACES)
]
HalfOption = Annotated[
    Half | None,
    typer.Option(
        "--half",
        help=(
            "Only the faces that chose the model and its temperature, or only those kept to "
            "report on it."
        ),
        rich_help_panel=FACES,
    ),
]


@dataclass(frozen=True)
class FacesChoice:
    dataset: Dataset = Dataset.ferplus
    data: Path | None = None
    split: Split = Split.valid
    half: Half | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """Predictions and what is known of where they come from."""

    predictions: "Predictions"
    model: Mapping[str, object] = field(default_factory=dict)
    temperature: float | None = None
    faces: "FacesUsed | None" = None
    bytes: int | None = None  # of a model


def predictions_from(named: str, choice: FacesChoice) -> Source:
    """Of any model, ours or not, by a file of predictions; or of a model of ours, by asking it."""
    if Path(named).suffix.lower() in FILES:
        from calib.predictions import read_predictions

        return Source(read_predictions(Path(named)), {"file": Path(named).name})
    from export.predict import labelled_faces, predict
    from rankotom_edge.artifact import load_artifact
    from train.datasets import data_folder

    artifact = load_artifact(named)
    card = artifact.card
    cache = data_folder(None) / "framed"
    faces = labelled_faces(chosen_faces(choice), card.crop, card.labels, cache)
    return Source(
        predict(artifact, faces), artifact.summary(), card.temperature, faces.used, artifact.bytes
    )


def chosen_faces(choice: FacesChoice) -> "FaceSet":
    """Part of a data set is measured all the same: the report says how many faces there were."""
    from train.datasets import data_folder, half, load_dataset

    faces = load_dataset(
        choice.dataset.value, data_folder(choice.data), choice.split.value, check_count=False
    )
    if choice.half is None:
        return faces
    return half(faces, choice.half.value)


def save_predictions(predictions: "Predictions", path: Path) -> None:
    """As ``read_predictions`` reads them."""
    import numpy as np

    from calib.errors import RankotomError
    from calib.files import replacing

    if path.suffix.lower() != ".npz":
        raise RankotomError(f"Predictions are saved as .npz, and {path} ends otherwise.")
    arrays: dict[str, Any] = {
        "probabilities": predictions.probabilities,
        "labels": predictions.labels,
        "classes": np.array(predictions.classes),
        "logits": predictions.logits,
        "votes": predictions.votes,
    }
    with replacing(path) as temporary:
        np.savez_compressed(
            temporary, **{name: array for name, array in arrays.items() if array is not None}
        )
