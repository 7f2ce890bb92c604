"""How good is the model on your own labelled pictures? One folder for each expression:

    labelled/happiness/1.jpg  labelled/happiness/2.jpg  labelled/neutral/3.jpg  ...

    python examples/labelled_folder.py labelled predictions.npz

It reads the largest face of each picture, writes the predictions, and has them evaluated: accuracy
and calibration, each with its interval.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from rankotom_edge import FaceReading, RankotomError, Reader


def main(folder: Path, predictions: Path) -> int:
    probabilities, labels, left_out = [], [], 0
    with Reader() as reader:
        for number, label in enumerate(reader.labels):
            for path in sorted((folder / label).glob("*")):
                face = largest_face(reader, path)
                if face is None:
                    left_out += 1
                else:
                    probabilities.append([face.raw[name] for name in reader.labels])
                    labels.append(number)
        classes = reader.labels
    if not labels:
        print(f"There is no face in {folder}/{{{','.join(classes)}}}.", file=sys.stderr)
        return 2
    np.savez(predictions, probabilities=probabilities, labels=labels, classes=classes)
    print(f"{len(labels)} faces; {left_out} files without a face, or no picture", flush=True)
    evaluate = [sys.executable, "-m", "rankotom_edge", "evaluate", str(predictions)]
    return subprocess.run(evaluate, check=False).returncode


def largest_face(reader: Reader, path: Path) -> FaceReading | None:
    try:
        faces = reader.read(path).faces
    except RankotomError:
        return None
    return max(faces, key=lambda face: face.box[2] * face.box[3], default=None)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
