"""A model file measured again on the faces of its card: the same graph, and the figures of today.

    python -m export.remeasure rankotom_edge/model/embedded/ferplus-fp32.onnx

For a card from before a figure was thought of. Nothing is fitted; other faces are refused.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import onnx
import typer

from calib.errors import RankotomError, exit_on_error
from calib.evaluation import evaluate
from export.artifact_writer import figures_of, write_artifact
from export.predict import labelled_faces, predict
from rankotom_edge.model.artifact import Artifact, read_artifact
from train.data.datasets import DatasetName, FaceSet, data_folder, load_dataset, validation_half


def measured_again(artifact: Artifact, data: Path | None) -> Artifact:
    """The file written anew, in its place."""
    card = artifact.card
    faces = _named(card.measured_on.name, data)
    labelled = labelled_faces(faces, card.crop, card.labels, data_folder(None) / "framed")
    if labelled.used != card.measured_on:
        raise RankotomError(
            f"{card.name} was measured on {card.measured_on.count:,} faces of "
            f"{card.measured_on.name}, and the {labelled.used.count:,} in {data_folder(data)} are "
            "not the same. Nothing was written."
        )
    evaluation = evaluate(predict(artifact, labelled), temperature=card.temperature)
    renewed = replace(card, figures=figures_of(evaluation))
    return write_artifact(onnx.load(artifact.path), renewed, artifact.path)


def _named(name: str, data: Path | None) -> FaceSet:
    """``ferplus/valid/report`` as it was called when it was measured."""
    parts: list[Any] = name.split("/")
    if len(parts) < 2 or parts[0] not in get_args(DatasetName):
        raise RankotomError(f"{name} is no data set that could be read again.")
    faces = load_dataset(parts[0], data_folder(data), parts[1], check_count=False)
    return validation_half(faces, parts[2]) if len(parts) > 2 else faces


def main(
    model: Path,
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    """Measure a model file again, and write its card anew."""
    before = read_artifact(model)
    after = measured_again(before, data)
    for name in ("accuracy", "ece", "aece", "nll"):
        was, is_now = (each.card.figures[name] for each in (before, after))
        print(f"{name:<9} {was:.4f} {is_now:.4f}")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
