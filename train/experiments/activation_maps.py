"""The paper's Figure 2, "activation maps of blends are broader", as a number and as a picture.

    python -m train.experiments.activation_maps --model ferplus-fp32 --output /tmp/figure2.png

The number: how much of the map of the likeliest emotion is above half of the map's maximum, for the
faces of one half of FERPlus valid and for the blends of rank_order.py. The picture has an FR face,
a FER face and their blend in each row. It shows faces of the data sets, which are licensed for
research only: keep it out of the repo. Figure 3, the compound heatmap, is part of ``rankotom-edge
evaluate … --plot``, and of ``train.experiments.compounds`` for RAF-DB's compound faces.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import torch
import typer
from numpy.typing import NDArray

from calib.errors import RankotomError, exit_on_error
from calib.files import replace_file
from calib.resampling import QUANTILES, RESAMPLES
from rankotom_edge.faces.crop import FERPLUS_FRAMING, Framing
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from train.blend import blend_faces
from train.data.crops import load_crops
from train.data.datasets import FaceSet, Half, data_folder, load_dataset, validation_half
from train.experiments.rank_order import BATCH, are_clear, blend_pairs, draw_pairs

# (FER, FR): two rows of different emotions and two of the same, as in the paper.
ROWS = (
    ("surprise", "happiness"),
    ("anger", "happiness"),
    ("happiness", "happiness"),
    ("neutral", "neutral"),
)


@dataclass(frozen=True, eq=False)
class ClassifiedFace:
    pixels: NDArray[np.uint8]  # (size, size)
    emotion: str
    confidence: float
    evidence: NDArray[np.float32]  # (h, w), of that emotion


def classify_faces(classifier: Classifier, faces: NDArray[np.uint8]) -> list[ClassifiedFace]:
    parts = np.array_split(faces, -(-len(faces) // BATCH))
    return [face for part in parts for face in classify_part(classifier, part)]


def classify_part(classifier: Classifier, faces: NDArray[np.uint8]) -> list[ClassifiedFace]:
    scores = classifier.classify(faces)
    if scores.evidence is None:
        raise RankotomError(
            "This model has no evidence output; export it with its activation maps."
        )
    best, classes = scores.probabilities.argmax(axis=1), classifier.artifact.card.labels
    return [
        ClassifiedFace(face[0], classes[label], float(row[label]), maps[label])
        for face, label, row, maps in zip(
            faces, best, scores.probabilities, scores.evidence, strict=True
        )
    ]


def share_above_half(evidence: NDArray[np.float32]) -> float:
    """The share of a map's cells above half of its maximum; 0 where no cell speaks for it."""
    return float((evidence > 0.5 * max(0.0, float(evidence.max()))).mean())


def compare_shares(
    faces: NDArray[np.float64], blends: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Of the chosen pairs' faces, of their blends, and blends less faces: the mean share and its
    95 % interval, (3, 3).

    Pairs are drawn with replacement, each blend with the mean of its two faces.
    """
    upper, lower = draw_pairs(len(faces))
    originals = (faces[upper] + faces[lower]) / 2
    values = np.stack([originals, blends, blends - originals], axis=1)[chosen]
    random = np.random.default_rng(0)
    drawn = [
        values[random.integers(0, len(values), len(values))].mean(axis=0) for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(drawn, QUANTILES, axis=0)
    return np.stack([values.mean(axis=0), low, high], axis=1)


def most_confident(faces: list[ClassifiedFace], emotion: str, taken: set[int]) -> int:
    """The index of the most confident face of an emotion; each face is taken once."""
    of_emotion = [i for i, face in enumerate(faces) if face.emotion == emotion and i not in taken]
    if not of_emotion:
        raise RankotomError(f"The model finds no face of {emotion} to show.")
    index = max(of_emotion, key=lambda i: faces[i].confidence)
    taken.add(index)
    return index


def main(
    output: Annotated[
        Path | None, typer.Option(help="Picture to write; keep it out of the repo.")
    ] = None,
    model: str = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    half: Annotated[Half, typer.Option(help="Half of FERPlus valid.")] = "choose",
    check_count: Annotated[
        bool, typer.Option(help="Compare the number of pictures with the paper's.")
    ] = True,
) -> None:
    """Print how broad the maps of faces and of blends are; draw the figure."""
    artifact, folder = load_artifact(model), data_folder(data)
    crop = artifact.card.crop

    def pixels(faces: FaceSet, framing: Framing | None = None) -> NDArray[np.uint8]:
        return load_crops(faces, crop.size, crop.channels, framing, folder / "framed")

    faces = validation_half(load_dataset("ferplus", folder, "valid", check_count), half)
    fer = pixels(faces)
    with Classifier(artifact, torch.get_num_threads()) as classifier:
        fer_faces, blends = (classify_faces(classifier, each) for each in (fer, blend_pairs(fer)))
        print(f"{artifact.card.name} on {faces.name}\n")
        print_shares(faces, fer_faces, blends)
        if output is not None:
            lfw = load_dataset("lfw", folder, "train", check_count)
            fr = pixels(lfw, FERPLUS_FRAMING)[:4000]  # enough to choose
            draw(choose_rows(classifier, fer, fer_faces, fr), output)


def print_shares(
    faces: FaceSet, fer_faces: list[ClassifiedFace], blends: list[ClassifiedFace]
) -> None:
    shares, of_blends = (
        np.array([share_above_half(face.evidence) for face in each]) for each in (fer_faces, blends)
    )
    rows, columns = fer_faces[0].evidence.shape
    print(f"Share of the {rows} x {columns} map above half of its maximum, with the 95 % interval")
    for words, chosen in (("all", np.ones(len(faces), np.bool_)), ("clear", are_clear(faces))):
        if not chosen.any():
            continue
        print(f"  {chosen.sum():,} {words} pairs")
        for name, (mean, low, high) in zip(
            ("faces", "blends", "blends less faces"),
            100 * compare_shares(shares, of_blends, chosen),
            strict=True,
        ):
            print(f"    {name:18}{mean:6.1f} %  ({low:.1f} to {high:.1f})")


def choose_rows(
    classifier: Classifier,
    fer: NDArray[np.uint8],
    fer_faces: list[ClassifiedFace],
    fr: NDArray[np.uint8],
) -> list[list[ClassifiedFace]]:
    """An FR face, a FER face and their blend for each of ROWS."""
    fr_faces = classify_faces(classifier, fr)
    fer_taken: set[int] = set()
    fr_taken: set[int] = set()
    rows = []
    for fer_emotion, fr_emotion in ROWS:
        i = most_confident(fer_faces, fer_emotion, fer_taken)
        j = most_confident(fr_faces, fr_emotion, fr_taken)
        blend = blend_faces(torch.from_numpy(fer[[i]]), torch.from_numpy(fr[[j]]))
        rows.append([fr_faces[j], fer_faces[i], *classify_faces(classifier, blend.numpy())])
    return rows


def draw(rows: list[list[ClassifiedFace]], output: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, grid = pyplot.subplots(len(rows), 3, figsize=(6.6, 2.5 * len(rows)))
    for panels, faces in zip(grid, rows, strict=True):
        for panel, face in zip(panels, faces, strict=True):
            draw_face(panel, face)
    for panel, title in zip(grid[0], ("FR face", "FER face", "blend"), strict=True):
        panel.set_title(f"{title}\n{panel.get_title()}", fontsize=10)
    figure.tight_layout()
    with replace_file(output) as file:
        figure.savefig(file, dpi=140)
    pyplot.close(figure)


def draw_face(panel: Any, face: ClassifiedFace) -> None:
    size = face.pixels.shape[0]
    heat = cv2.resize(face.evidence, (size, size), interpolation=cv2.INTER_CUBIC)
    panel.imshow(face.pixels, cmap="gray", vmin=0, vmax=255)
    panel.imshow(np.maximum(heat, 0), cmap="magma", alpha=0.45)
    panel.set_title(f"{face.emotion} {face.confidence:.0%}", fontsize=10)
    panel.set_axis_off()


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
