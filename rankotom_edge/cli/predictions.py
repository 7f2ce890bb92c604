"""How commands name predictions: a file that holds them, or a model and the faces it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.option_groups import given_options

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
FACES = "Faces"
FILES = (".npz", ".csv")

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


@dataclass(frozen=True)
class FacesOptions:
    """The labelled faces that a model reads."""

    dataset: Annotated[
        Literal["ferplus", "rafdb", "affectnet"] | None,
        typer.Option(
            metavar="NAME",
            help=r"[bold]ferplus[/], rafdb or affectnet. [dim]\[default: ferplus][/]",
            show_default=False,
            rich_help_panel=FACES,
        ),
    ] = None
    data: DataOption = None
    split: Annotated[
        Literal["train", "valid", "test"] | None,
        typer.Option(
            metavar="NAME",
            help=r"train, [bold]valid[/] or test. [dim]\[default: valid][/]",
            show_default=False,
            rich_help_panel=FACES,
        ),
    ] = None
    half: Annotated[
        Literal["choose", "report"] | None,
        typer.Option(
            metavar="NAME",
            help=(
                "Half of the split: [bold]choose[/], on which the model and its temperature were "
                "chosen, or [bold]report[/], held out to report on."
            ),
            rich_help_panel=FACES,
        ),
    ] = None

    def check_needed(self, *named: str) -> None:
        """Refuses these options if only predictions files are named: they would have no effect."""
        given = given_options(self)
        if given and all(is_predictions_file(name) for name in named):
            raise typer.BadParameter(
                f"only a model reads faces; leave out {' and '.join(given)}, as "
                f"{' and '.join(named)} already holds predictions"
            )

    def load(self) -> FaceSet:
        """An incomplete split is accepted: the report says how many faces it had."""
        from train.data.datasets import data_folder, load_dataset, validation_half

        folder, split = data_folder(self.data), self.split or "valid"
        faces = load_dataset(self.dataset or "ferplus", folder, split, check_count=False)
        return faces if self.half is None else validation_half(faces, self.half)


@dataclass(frozen=True, eq=False)
class ModelPredictions:
    """Predictions, and what is known about the model and the faces."""

    predictions: Predictions
    model: Mapping[str, object] = field(default_factory=dict)
    temperature: float | None = None
    faces: FacesUsed | None = None
    artifact: Artifact | None = None  # None if they were read from a file
    caveats: tuple[str, ...] = ()  # notes for the report


def is_predictions_file(named: str) -> bool:
    return Path(named).suffix.lower() in FILES


def load_predictions(named: str, options: FacesOptions) -> ModelPredictions:
    """From a predictions file, of any model; or by running one of our models on the faces."""
    if is_predictions_file(named):
        from calib.prediction_files import read_predictions

        return ModelPredictions(read_predictions(Path(named)), {"file": Path(named).name})
    from export.faces import labelled_faces
    from export.predict import predict
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
    faces = labelled_faces(options.load(), card.crop, card.labels, cache)
    caveats = (calibration_caveat(faces.used, card.calibrated_on), target_caveat(card))
    return ModelPredictions(
        predict(artifact, faces, f"running {card.name}"),
        artifact.summary(),
        card.temperature,
        faces.used,
        artifact,
        tuple(filter(None, caveats)),
    )


def calibration_caveat(faces: FacesUsed, calibrated_on: Iterable[FacesUsed]) -> str | None:
    """If the temperature was fitted on these faces: it looks better on them than on others."""
    for fitted in calibrated_on:
        if faces.sha256 == fitted.sha256 or f"{faces.name}/".startswith(f"{fitted.name}/"):
            which = "these faces"
        elif fitted.name.startswith(f"{faces.name}/"):
            # The overlap with an incomplete split is unknown: the card has only a count.
            complete = is_complete_split(faces)
            overlap = f"{fitted.count:,} of these {faces.count:,}" if complete else "some of these"
            which = f"{overlap} faces"
        else:
            continue
        honest = "--half report" if fitted.name.endswith("/choose") else "other faces"
        return f"{which} were used to fit the temperature; for an unbiased result, use {honest}."
    return None


def is_complete_split(faces: FacesUsed) -> bool:
    """Whether the split has as many faces as the paper says."""
    from train.data.datasets import PAPER_COUNTS

    dataset, _, split = faces.name.partition("/")
    return PAPER_COUNTS.get(dataset, {}).get(split) == faces.count


def target_caveat(card: ModelCard) -> str | None:
    from rankotom_edge.model.target import needs_exact_arithmetic

    if not needs_exact_arithmetic(card):
        return None
    return (
        f"{card.name} is made for {' and '.join(card.targets)}; it ran here in exact arithmetic, "
        "so its predictions count but its speed does not."
    )


def with_title(evaluation: Evaluation, title: str) -> Evaluation:
    """For the report and the plot; the JSON names the model and the data separately."""
    return replace(evaluation, model={**evaluation.model, "name": title})


def check_npz_name(path: Path | None) -> None:
    if path is not None and path.suffix.lower() != ".npz":
        raise RankotomError(f"Predictions are saved as .npz; give {path} a name that ends in .npz.")


def save_predictions(predictions: Predictions, path: Path) -> None:
    """In the format of ``calib.prediction_files.read_predictions``."""
    import numpy as np

    from calib.files import replace_file

    arrays: dict[str, Any] = {
        "probabilities": predictions.probabilities,
        "labels": predictions.labels,
        "classes": np.array(predictions.classes),
        "logits": predictions.logits,
        "votes": predictions.votes,
    }
    with replace_file(path) as temporary:
        np.savez_compressed(
            temporary, **{name: array for name, array in arrays.items() if array is not None}
        )
