"""The paper's Figure 2 from an artifact: class activation maps of an FR face, a FER face, a blend.

    python -m train.experiments.activation_maps --model ferplus-fp32 --output /tmp/figure2.png

The picture shows faces of the data sets, whose licence is for research: keep it out of the repo.
Figure 3, the compound heatmap, is part of ``rankotom-edge evaluate … --plot``.
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
from calib.files import replacing
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from train.blend import blend_faces
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset, validation_half

# (FER, FR): two rows of emotions at odds, two of emotions alike, as the paper's figure has them.
ROWS = (
    ("surprise", "happiness"),
    ("anger", "happiness"),
    ("happiness", "happiness"),
    ("neutral", "neutral"),
)


@dataclass(frozen=True, eq=False)
class Shown:
    """A face, what the model says of it, and where its logit comes from."""

    pixels: NDArray[np.uint8]  # (size, size)
    emotion: str
    confidence: float
    evidence: NDArray[np.float32]  # (h, w), of that emotion


def look(classifier: Classifier, faces: NDArray[np.uint8], classes: tuple[str, ...]) -> list[Shown]:
    scores = classifier.classify(faces)
    if scores.evidence is None:
        raise RankotomError(
            "This model has no evidence output; export it with its activation maps."
        )
    best = scores.probabilities.argmax(axis=1)
    return [
        Shown(face[0], classes[label], float(row[label]), maps[label])
        for face, label, row, maps in zip(
            faces, best, scores.probabilities, scores.evidence, strict=True
        )
    ]


def surest(shown: list[Shown], emotion: str, taken: set[int]) -> int:
    """The face that shows an emotion most clearly, each face once."""
    of_emotion = [i for i, face in enumerate(shown) if face.emotion == emotion and i not in taken]
    if not of_emotion:
        raise RankotomError(f"The model finds no face of {emotion} to show.")
    index = max(of_emotion, key=lambda i: shown[i].confidence)
    taken.add(index)
    return index


def main(
    output: Annotated[Path, typer.Option(help="The picture to write; not inside the repo.")],
    model: str = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    artifact = load_artifact(model)
    classifier, folder = Classifier(artifact), data_folder(data)
    cache, size, channels = folder / "framed", artifact.card.crop.size, artifact.card.crop.channels
    fer = load_crops(
        validation_half(load_dataset("ferplus", folder, "valid"), "report"),
        size,
        channels,
        None,
        cache,
    )
    fr = load_crops(load_dataset("lfw", folder, "train"), size, channels, FERPLUS_FRAMING, cache)[
        :4000
    ]
    fer_shown, fr_shown = (look(classifier, faces, artifact.card.labels) for faces in (fer, fr))
    fer_taken: set[int] = set()
    fr_taken: set[int] = set()
    rows = []
    for fer_emotion, fr_emotion in ROWS:
        i, j = surest(fer_shown, fer_emotion, fer_taken), surest(fr_shown, fr_emotion, fr_taken)
        blend = blend_faces(torch.from_numpy(fer[[i]]), torch.from_numpy(fr[[j]]))
        rows.append(
            [fr_shown[j], fer_shown[i], *look(classifier, blend.numpy(), artifact.card.labels)]
        )
    draw(rows, output)


def draw(rows: list[list[Shown]], output: Path) -> None:
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
    with replacing(output) as file:
        figure.savefig(file, dpi=140)
    pyplot.close(figure)


def draw_face(panel: Any, face: Shown) -> None:
    size = face.pixels.shape[0]
    heat = cv2.resize(face.evidence, (size, size), interpolation=cv2.INTER_CUBIC)
    panel.imshow(face.pixels, cmap="gray", vmin=0, vmax=255)
    panel.imshow(np.maximum(heat, 0), cmap="magma", alpha=0.45)
    panel.set_title(f"{face.emotion} {face.confidence:.0%}", fontsize=10)
    panel.set_axis_off()


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
