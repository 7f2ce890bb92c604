"""The ways to name predictions on the command line, in one place for every command.

A predictions file has the labels inside. A model needs faces: a data set, its folder, a split.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calib.errors import RankotomError

if TYPE_CHECKING:
    from calib.evaluation import Evaluation
    from calib.predictions import Predictions
    from rankotom_edge.model.artifact import Artifact
    from rankotom_edge.model.card import FacesUsed, ModelCard
    from train.data.datasets import FaceSet

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
    Dataset | None,
    typer.Option(
        "--dataset",
        metavar="NAME",
        help=r"[bold]ferplus[/], rafdb or affectnet. [dim]\[default: ferplus][/]",
        show_default=False,
        rich_help_panel=FACES,
    ),
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
    Split | None,
    typer.Option(
        "--split",
        metavar="NAME",
        help=r"Its part: train, [bold]valid[/] or test. [dim]\[default: valid][/]",
        show_default=False,
        rich_help_panel=FACES,
    ),
]
HalfOption = Annotated[
    Half | None,
    typer.Option(
        "--half",
        metavar="NAME",
        help=(
            "Half of that part: [bold]choose[/], on which the model and its temperature were "
            "chosen, or [bold]report[/], kept to report on it."
        ),
        rich_help_panel=FACES,
    ),
]


@dataclass(frozen=True)
class FacesChoice:
    """The options above; None where one was not given."""

    dataset: Dataset | None = None
    data: Path | None = None
    split: Split | None = None
    half: Half | None = None

    def check_needed(self, *named: str) -> None:
        """These options choose faces for a model; to pass them over in silence would mislead."""
        given = [f"--{option.name}" for option in fields(self) if getattr(self, option.name)]
        if given and all(is_predictions_file(name) for name in named):
            raise typer.BadParameter(
                f"only a model is asked about faces; leave out {' and '.join(given)}, as "
                f"{' and '.join(named)} already has its answers"
            )


@dataclass(frozen=True, eq=False)
class Source:
    """Predictions and what is known of where they come from."""

    predictions: "Predictions"
    model: Mapping[str, object] = field(default_factory=dict)
    temperature: float | None = None
    faces: "FacesUsed | None" = None
    artifact: "Artifact | None" = None  # where a model was asked
    caveats: tuple[str, ...] = ()  # what to bear in mind with its figures


def is_predictions_file(named: str) -> bool:
    return Path(named).suffix.lower() in FILES


def predictions_from(named: str, choice: FacesChoice) -> Source:
    """Of any model, ours or not, by a file of predictions; or of a model of ours, by asking it."""
    if is_predictions_file(named):
        from calib.prediction_files import read_predictions

        return Source(read_predictions(Path(named)), {"file": Path(named).name})
    from export.predict import labelled_faces, predict
    from rankotom_edge.model.artifact import embedded_models, load_artifact
    from train.data.datasets import data_folder

    embedded = embedded_models()
    if named not in embedded and Path(named).suffix.lower() != ".onnx":
        raise RankotomError(
            "Expected predictions (.npz or .csv), a model file (.onnx) or the name of an embedded "
            f"model ({', '.join(embedded) or 'none is embedded here'}); {named} is "
            f"{'a folder' if Path(named).is_dir() else 'none of these'}."
        )
    artifact = load_artifact(named)
    card = artifact.card
    cache = data_folder(None) / "framed"
    faces = labelled_faces(chosen_faces(choice), card.crop, card.labels, cache)
    return Source(
        predict(artifact, faces),
        artifact.summary(),
        card.temperature,
        faces.used,
        artifact,
        tuple(filter(None, (caveat(faces.used, card.calibrated_on), target_caveat(card)))),
    )


def caveat(faces: "FacesUsed", calibrated_on: Iterable["FacesUsed"]) -> str | None:
    """A temperature looks better on the faces that it was fitted on than on any others."""
    for fitted in calibrated_on:
        if faces.sha256 == fitted.sha256 or f"{faces.name}/".startswith(f"{fitted.name}/"):
            which = "these faces"
        elif fitted.name.startswith(f"{faces.name}/"):
            # Of part of a split, nobody wrote down which of its faces those were.
            overlap = (
                f"{fitted.count:,} of these {faces.count:,}" if is_whole(faces) else "some of these"
            )
            which = f"{overlap} faces"
        else:
            continue
        honest = "--half report" if fitted.name.endswith("/choose") else "that on other faces"
        return f"{which} fitted the temperature; {honest} is the honest figure."
    return None


def is_whole(faces: "FacesUsed") -> bool:
    """All of an official split are here, by the paper's count."""
    from train.data.datasets import PAPER_COUNTS

    dataset, _, split = faces.name.partition("/")
    return PAPER_COUNTS.get(dataset, {}).get(split) == faces.count


def target_caveat(card: "ModelCard") -> str | None:
    from rankotom_edge.model.target import needs_exact_arithmetic

    if not needs_exact_arithmetic(card):
        return None
    return (
        f"{card.name} is made for {' and '.join(card.targets)}; here it was asked in exact "
        "arithmetic, so its answers count and its speed does not."
    )


def entitled(evaluation: "Evaluation", title: str) -> "Evaluation":
    """For the screen and the picture; the JSON names the model and the data apart."""
    return replace(evaluation, model={**evaluation.model, "name": title})


def chosen_faces(choice: FacesChoice) -> "FaceSet":
    """Part of a data set is measured all the same: the report says how many faces there were."""
    from train.data.datasets import data_folder, load_dataset, validation_half

    dataset, split = choice.dataset or Dataset.ferplus, choice.split or Split.valid
    faces = load_dataset(dataset.value, data_folder(choice.data), split.value, check_count=False)
    if choice.half is None:
        return faces
    return validation_half(faces, choice.half.value)


def check_saved_name(path: Path | None) -> None:
    if path is not None and path.suffix.lower() != ".npz":
        raise RankotomError(f"Predictions are saved as .npz, and {path} ends otherwise.")


def save_predictions(predictions: "Predictions", path: Path) -> None:
    """As ``read_predictions`` reads them."""
    import numpy as np

    from calib.files import replacing

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
