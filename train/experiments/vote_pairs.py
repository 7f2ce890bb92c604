"""How often people see two given expressions in one face.

    python -m train.experiments.vote_pairs

A pair counts where the live program would name a blend (``readings/blend.py``): in FERPlus train's
votes both have four fifths together, and the lesser has a fifth.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from calib.arrays import FloatArray
from calib.blends import vote_shares
from calib.errors import exit_on_error
from rankotom_edge.readings.blend import COMMON_PAIRS, find_blend
from train.data.datasets import data_folder, load_dataset


def count_pairs(votes: FloatArray, labels: tuple[str, ...]) -> Counter[frozenset[str]]:
    blends = (find_blend(np.asarray(shares), labels) for shares in vote_shares(votes))
    return Counter(blend.emotions for blend in blends if blend is not None)


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Print how many faces of FERPlus train have each pair, the commonest first."""
    faces = load_dataset("ferplus", data_folder(data), "train")
    assert faces.votes is not None
    pairs = count_pairs(faces.votes.astype(np.float64), faces.classes)
    print(f"{faces.name}: {len(faces):,} faces, {pairs.total():,} with two expressions")
    for pair, count in pairs.most_common():
        common = "" if pair in COMMON_PAIRS else "   rare"
        print(f"  {' + '.join(sorted(pair)):20} {count:5,} {count / len(faces):7.2%}{common}")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
