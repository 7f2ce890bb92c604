"""Measure a model file again on the faces that its card names, and write the new card into it.

    python -m export.remeasure rankotom_edge/model/embedded/ferplus-fp32.onnx

For a card that is older than a metric. The graph stays the same and nothing is fitted.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import onnx
import typer

from calib.errors import RankotomError, exit_on_error
from calib.evaluation import evaluate
from export.artifact_writer import write_artifact
from export.faces import labelled_faces
from export.predict import predict
from rankotom_edge.model.artifact import Artifact, read_artifact
from train.data.datasets import DatasetName, FaceSet, data_folder, load_dataset, validation_half


def remeasure(artifact: Artifact, data: Path | None) -> Artifact:
    """Overwrite the file; refuse faces other than those of its card."""
    card = artifact.card
    faces = _load_faces(card.measured_on.name, data)
    labelled = labelled_faces(faces, card.crop, card.labels, data_folder(None) / "framed")
    if labelled.used != card.measured_on:
        raise RankotomError(
            f"{card.name} was measured on {card.measured_on.count:,} faces of "
            f"{card.measured_on.name}, and the {labelled.used.count:,} in {data_folder(data)} are "
            "not the same. Nothing was written."
        )
    evaluation = evaluate(predict(artifact, labelled), temperature=card.temperature)
    measured = replace(card, evaluation=evaluation)
    return write_artifact(onnx.load(artifact.path), measured, artifact.path)


def _load_faces(name: str, data: Path | None) -> FaceSet:
    """By the name in a card: ``ferplus/valid/report``."""
    parts: list[Any] = name.split("/")
    if len(parts) < 2 or parts[0] not in get_args(DatasetName):
        raise RankotomError(f"{name} is not the name of a data set that can be read here.")
    faces = load_dataset(parts[0], data_folder(data), parts[1], check_count=False)
    return validation_half(faces, parts[2]) if len(parts) > 2 else faces


def main(
    model: Path,
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    """Measure a model file again, and write the new card into it."""
    before = read_artifact(model)
    after = remeasure(before, data)
    for name in ("accuracy", "ece", "aece", "nll"):
        values = [each.card.evaluation.metrics[name].value for each in (before, after)]
        print(f"{name:<9}", *("–" if value is None else f"{value:.4f}" for value in values))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
