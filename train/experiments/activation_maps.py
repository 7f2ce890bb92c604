"""The paper's Figure 2: class activation maps of an FR face, a FER face and their blend.

    python -m train.experiments.activation_maps --model ferplus-fp32 --output /tmp/figure2.png

The picture shows faces of the data sets, which are licensed for research only: keep it out of the
repo. Figure 3, the compound heatmap, is part of ``rankotom-edge evaluate … --plot``.
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
from rankotom_edge.faces.crop import FERPLUS_FRAMING, Framing
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from train.blend import blend_faces
from train.data.crops import load_crops
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half

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


def most_confident(faces: list[ClassifiedFace], emotion: str, taken: set[int]) -> int:
    """The index of the most confident face of an emotion; each face is taken once."""
    of_emotion = [i for i, face in enumerate(faces) if face.emotion == emotion and i not in taken]
    if not of_emotion:
        raise RankotomError(f"The model finds no face of {emotion} to show.")
    index = max(of_emotion, key=lambda i: faces[i].confidence)
    taken.add(index)
    return index


def main(
    output: Annotated[Path, typer.Option(help="Picture to write; keep it out of the repo.")],
    model: str = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Draw the figure."""
    artifact, folder = load_artifact(model), data_folder(data)
    crop = artifact.card.crop

    def pixels(faces: FaceSet, framing: Framing | None = None) -> NDArray[np.uint8]:
        return load_crops(faces, crop.size, crop.channels, framing, folder / "framed")

    fer = pixels(validation_half(load_dataset("ferplus", folder, "valid"), "report"))
    fr = pixels(load_dataset("lfw", folder, "train"), FERPLUS_FRAMING)[:4000]  # enough to choose
    classifier = Classifier(artifact)
    fer_faces, fr_faces = (classify_faces(classifier, faces) for faces in (fer, fr))
    fer_taken: set[int] = set()
    fr_taken: set[int] = set()
    rows = []
    for fer_emotion, fr_emotion in ROWS:
        i = most_confident(fer_faces, fer_emotion, fer_taken)
        j = most_confident(fr_faces, fr_emotion, fr_taken)
        blend = blend_faces(torch.from_numpy(fer[[i]]), torch.from_numpy(fr[[j]]))
        rows.append([fr_faces[j], fer_faces[i], *classify_faces(classifier, blend.numpy())])
    draw(rows, output)


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
