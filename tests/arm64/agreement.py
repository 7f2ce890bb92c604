"""What the embedded models say of faces in the emulated arm64 Debian, against what they say here.

    agreement.py choose FACES.npy COUNT          faces of which no expression is nearly certain
    agreement.py read FACES.npy OUT.npz MODEL…   on either machine
    agreement.py compare FOLDER                  a table; exit status 1 beyond the limits

``MODEL`` is an embedded model, as the program runs it; or ``kernels``: the symmetric model in the
machine's integer kernels, which the program does not use on a CPU, because they answer otherwise.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from calib.errors import RankotomError
from calib.temperature import softmax
from rankotom_edge.model.artifact import INPUT, LOGITS, load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.embedded import FP32, INT8, INT8_S8S8
from rankotom_edge.model.onnx_runtime import open_session, run_session

SATURATED = 0.9  # a confidence above it hides what changes in the logits
BATCH = 20
KERNELS = "kernels"
MODELS = (FP32, INT8, INT8_S8S8, KERNELS)
SAME = 1e-4  # logits: floats that are added in another order differ by less than 1e-5
# The largest difference of a logit, and the share of faces with more than SAME. The first layer of
# an INT8 model is in floats: now and then a value falls on the other side of a rounding there, and
# moves one face by hundredths (three of 200, by 0.03). Even such roundings in every layer, exact
# arithmetic against this machine's kernels, moved 1,790 faces by no more than 0.16, and the fitted
# temperature by 0.0004. An integer overflow moves nearly every face, by whole logits.
LIMITS = {FP32: (SAME, 0.0), INT8: (0.2, 0.1), INT8_S8S8: (0.2, 0.1)}
MAX_FLIPS = 0.01  # half of what the gate allows between a model and its parent
Ask = Callable[[NDArray[np.uint8]], NDArray[np.float32]]  # faces to logits
Answers = dict[str, NDArray[np.float32]]  # logits, and the seconds, by model
WORDS = {
    INT8_S8S8: "…-s8s8, exact",
    KERNELS: "…-s8s8, integer kernels",
}


def choose(path: Path, count: int) -> None:
    """Of FERPlus's choosing half, or of the demo's portrait where that is not on the disk."""
    try:
        faces, source = ferplus_faces(), "FERPlus valid, choosing half"
    except RankotomError:
        faces, source = portrait_variants(8 * count), "the demo's portrait, changed"
    with Classifier(load_artifact(FP32)) as classifier:
        chosen = unsaturated(faces, classifier, count)
    np.save(path, chosen)
    print(f"{len(chosen)} faces of {source}, each read with a confidence below {SATURATED:.0%}")


def ferplus_faces() -> NDArray[np.uint8]:
    from export.faces import labelled_faces
    from train.data.datasets import data_folder, load_dataset, validation_half

    card = load_artifact(FP32).card
    valid = load_dataset("ferplus", data_folder(None), "valid", check_count=False)
    half = validation_half(valid, "choose")
    return labelled_faces(half, card.crop, card.labels, data_folder(None) / "framed").pixels


def portrait_variants(count: int) -> NDArray[np.uint8]:
    """The portrait's face with its halves moved against each other, turned, dimmed and noisy."""
    from rankotom_edge.sources.demo import CENTRE, load_portrait

    size = load_artifact(FP32).card.crop.size
    grey = cv2.cvtColor(load_portrait(), cv2.COLOR_BGR2GRAY)
    generator = np.random.default_rng(0)
    faces = []
    for _ in range(count):
        pull = generator.normal(0, 0.3, (2, 2)) + np.eye(2) * size / generator.uniform(80, 160)
        shift = size / 2 - pull @ np.array(CENTRE) + generator.normal(0, 3, 2)
        matrix = np.column_stack([pull, shift])
        face = cv2.warpAffine(grey, matrix, (size, size), flags=cv2.INTER_AREA).astype(np.float64)
        face = face * generator.uniform(0.3, 1.2) + generator.normal(0, 20, face.shape)
        faces.append(np.clip(face, 0, 255).astype(np.uint8))
    return np.stack(faces)[:, None]


def unsaturated(faces: NDArray[np.uint8], classifier: Classifier, count: int) -> NDArray[np.uint8]:
    """The first ``count`` whose confidence is not nearly 1."""
    kept: list[NDArray[np.uint8]] = []
    for start in range(0, len(faces), BATCH):
        batch = np.ascontiguousarray(faces[start : start + BATCH])
        confidence = classifier.classify(batch).probabilities.max(axis=1)
        kept.extend(batch[confidence < SATURATED])
        if len(kept) >= count:
            return np.stack(kept[:count])
    raise RankotomError(f"Only {len(kept)} of {len(faces)} faces are unsaturated; needs {count}.")


def read(faces: Path, output: Path, models: tuple[str, ...]) -> None:
    """The logits, and the CPU seconds; the files are read and the session is opened before."""
    pixels, answers = np.load(faces), {}
    for model in models:
        ask = kernels() if model == KERNELS else as_the_program(model)
        began = time.process_time()
        starts = range(0, len(pixels), BATCH)
        answers[model] = np.concatenate([ask(pixels[start : start + BATCH]) for start in starts])
        answers[f"{model} seconds"] = np.array(time.process_time() - began)
    np.savez(output, **answers)
    print(f"{len(pixels)} faces read")


def as_the_program(model: str) -> Ask:
    classifier = Classifier(load_artifact(model))
    return lambda faces: classifier.classify(faces).logits


def kernels() -> Ask:
    session = open_session(load_artifact(INT8_S8S8).path)
    return lambda faces: run_session(session, [LOGITS], {INPUT: faces})[0]


def compare(folder: Path) -> bool:
    """Print the table; whether the program's models answer on ARM as here."""
    here = dict(np.load(folder / "x86.npz"))
    there = {}
    for model in MODELS:
        there |= dict(np.load(folder / f"arm64-{model}.npz"))
    table = Table("", *(WORDS.get(model, model) for model in MODELS), box=None)
    columns = [column(model, here, there) for model in MODELS]
    for row in zip(ROWS, *columns, strict=True):
        table.add_row(*row)
    Console(width=140).print(table)
    failed = failures(here, there)
    print(*failed, sep="\n")
    return not failed


ROWS = (
    "faces",
    "logits, arm64 to x86: largest difference",
    "the same: median over the faces",
    f"faces with more than {SAME:.0e}",
    "probabilities, arm64 to x86: largest difference",
    "faces with another expression on arm64",
    "logits, kernels to exact: largest difference",
    "CPU ms a face, x86",
    "CPU ms a face, emulated (not a Jetson's)",
)


def column(model: str, here: Answers, there: Answers) -> tuple[str, ...]:
    logits, other = here[model], there[model]
    temperature = load_artifact(INT8_S8S8 if model == KERNELS else model).card.temperature
    change = np.abs(softmax(logits, temperature) - softmax(other, temperature))
    exact = np.abs(other - here[INT8_S8S8]).max() if model == KERNELS else None
    return (
        f"{len(logits)}",
        f"{differences(logits, other).max():.1e}",
        f"{np.median(differences(logits, other)):.1e}",
        f"{(differences(logits, other) > SAME).sum()}",
        f"{change.max():.1e}",
        f"{flips(logits, other)}",
        "" if exact is None else f"{exact:.2f}",
        *(f"{1000 * float(each[f'{model} seconds']) / len(logits):.1f}" for each in (here, there)),
    )


def differences(logits: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """The largest of each face."""
    largest: NDArray[np.float32] = np.abs(logits - other).max(axis=1)
    return largest


def flips(logits: NDArray[np.float32], other: NDArray[np.float32]) -> int:
    return int((logits.argmax(axis=1) != other.argmax(axis=1)).sum())


def failures(here: Answers, there: Answers) -> list[str]:
    """What the program would answer otherwise on ARM than where it was judged."""
    found = []
    for model, (limit, most) in LIMITS.items():
        each = differences(here[model], there[model])
        share = float((each > SAME).mean())
        flipped = flips(here[model], there[model]) / len(each)
        if each.max() > limit:
            found.append(f"FAILED  {model}: logits differ by {each.max():.1e}, more than {limit:g}")
        if share > most:
            found.append(f"FAILED  {model}: logits differ in {share:.0%} of the faces")
        if flipped > MAX_FLIPS:
            found.append(f"FAILED  {model}: {flipped:.1%} of the faces have another expression")
    return found


def main(command: str, path: str, *rest: str) -> int:
    try:
        if command == "choose":
            choose(Path(path), int(rest[0]))
        elif command == "read":
            read(Path(path), Path(rest[0]), rest[1:] or MODELS)
        else:
            return 0 if compare(Path(path)) else 1
    except RankotomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
