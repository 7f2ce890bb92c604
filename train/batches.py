"""The batch of a step: pixels, labels and random draws, as a function of (seed, epoch, step).

There is no state, so a resumed run sees the batches that it would have seen without the
interruption, and several processes agree on one global batch without communicating.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from calib.errors import RankotomError
from train.augment import Draws, Strength, draw
from train.data.damage import damage_faces
from train.ranks import Ranks
from train.recipe import Recipe

# Pseudo-labels always come from the paper's weak views, however strongly a recipe augments: they
# should depend on the face and not on the augmentation.
WEAK = Strength()


@dataclass(frozen=True, eq=False)
class TrainingFaces:
    """All faces of a run, in one framing; pixels are uint8 (n, c, size, size)."""

    classes: tuple[str, ...]
    fer: NDArray[np.uint8]
    labels: NDArray[np.int64]
    targets: NDArray[np.float32]  # (n, k) distributions: one-hot labels or vote shares
    fr: NDArray[np.uint8] | None  # faces without labels
    choose: NDArray[np.uint8]  # the choosing half of the validation set
    choose_labels: NDArray[np.int64]
    vote_peaks: NDArray[np.float32] | None = None  # (n,) a face's largest share of the votes

    def check(self, recipe: Recipe) -> None:
        if len(self.fer) < recipe.batch:
            raise RankotomError(
                f"{len(self.fer)} training faces do not fill one batch of {recipe.batch}."
            )
        if recipe.face_recognition and (self.fr is None or not len(self.fr)):
            raise RankotomError(f"{recipe.name} needs face-recognition faces (LFW); found none.")


@dataclass(frozen=True)
class Batch:
    """One rank's share of the faces of a step."""

    fer: Tensor  # uint8 (n, c, h, w)
    where: Tensor  # (n,) which of the training faces they are
    places: Tensor  # (n,) their places in the global batch
    labels: Tensor
    targets: Tensor
    tilt: Tensor  # (k,) what oversampling adds to the logits of each class
    draws: Draws
    fr: Tensor | None  # uint8 (m, c, h, w), partners of the first m FER faces
    fr_draws: tuple[Draws, Draws, Draws]  # view a, view b, and the view to train on
    blend_draws: Draws
    fer_above: Tensor  # (m,) bool: the FER face is the upper half of the blend
    seed: int  # of the global batch
    epoch: int
    progress: float  # through the run, from 0 to 1


def batches(
    recipe: Recipe, faces: TrainingFaces, epoch: int, ranks: Ranks, device: torch.device
) -> Iterator[Batch]:
    order, tilt = epoch_order(recipe, faces, epoch), oversampling_tilt(recipe, faces)
    blends = recipe.partners_at(epoch)
    fr_order = np.zeros(0, dtype=np.int64)
    steps = steps_per_epoch(recipe, faces)
    if recipe.face_recognition and faces.fr is not None and blends:
        passes = -(-steps * blends // len(faces.fr))
        fr_order = np.concatenate(
            [shuffle(len(faces.fr), recipe.seed, epoch, "fr", number) for number in range(passes)]
        )
    # Without FR faces, neighbours blend with each other (loop.py) and must stay on one rank.
    my_blends = ranks.part(blends, together=2 if recipe.blends and not len(fr_order) else 1)
    mine = torch.cat(
        [
            torch.arange(blends)[my_blends],  # the FER faces of this rank's blends
            torch.arange(blends, recipe.batch)[ranks.part(recipe.batch - blends)],
        ]
    )
    for step in range(steps):
        seed = derived_seed(recipe.seed, epoch, step)
        randomness = Generator().manual_seed(seed)
        draws = draw(recipe.batch, recipe.strength, randomness).part(mine)
        blend_draws = draw(blends, recipe.strength, randomness).part(my_blends)
        fer_above = (torch.rand(blends, generator=randomness) < 0.5)[my_blends]
        view_a, view_b, trained = (
            draw(blends, strength, randomness).part(my_blends)
            for strength in (WEAK, WEAK, recipe.strength)
        )
        where = order[step * recipe.batch : (step + 1) * recipe.batch][mine.numpy()]
        pixels = faces.fer[where]
        if recipe.damaged:
            # Not those that are blended: the network is less sure of a damaged face, and ranking
            # would lower the confidence of its blend below that.
            rest = slice(len(fer_above), None)
            pixels[rest] = damage_faces(pixels[rest], recipe.damaged, seed, mine.numpy()[rest])
        fr_where = fr_order[step * blends : (step + 1) * blends][my_blends]
        yield Batch(
            fer=torch.from_numpy(pixels).to(device),
            where=torch.from_numpy(where),
            places=mine.to(device),
            labels=torch.from_numpy(faces.labels[where]).to(device),
            targets=torch.from_numpy(faces.targets[where]).to(device),
            tilt=torch.from_numpy(tilt).to(device),
            draws=draws,
            fr=None
            if faces.fr is None or not len(fr_where)
            else torch.from_numpy(faces.fr[fr_where]).to(device),
            fr_draws=(view_a, view_b, trained),
            blend_draws=blend_draws,
            fer_above=fer_above.to(device),
            seed=seed,
            epoch=epoch,
            progress=(epoch + step / steps) / recipe.epochs,
        )


def steps_per_epoch(recipe: Recipe, faces: TrainingFaces) -> int:
    """Whole batches only; the faces left over differ from epoch to epoch."""
    return sum(class_totals(recipe, faces)) // recipe.batch


def class_repeats(recipe: Recipe, faces: TrainingFaces) -> NDArray[np.float32]:
    counts = np.bincount(faces.labels, minlength=len(faces.classes)).clip(1)
    return np.asarray((counts.max() / counts) ** recipe.oversample, np.float32)


def oversampling_tilt(recipe: Recipe, faces: TrainingFaces) -> NDArray[np.float32]:
    """A label that comes r times as often has r times the odds among faces that look alike. Votes
    and teachers' probabilities belong to the face, and do not change with the faces around it."""
    return np.float32(recipe.label_share) * np.log(class_repeats(recipe, faces))


def class_totals(recipe: Recipe, faces: TrainingFaces) -> list[int]:
    """The faces of each class in an epoch."""
    counts = np.bincount(faces.labels, minlength=len(faces.classes))
    return [round(each) for each in (counts * class_repeats(recipe, faces)).tolist()]


def epoch_order(recipe: Recipe, faces: TrainingFaces, epoch: int) -> NDArray[np.int64]:
    """Every face at least once, those of rare classes more often, shuffled."""
    order = shuffle(len(faces.fer), recipe.seed, epoch, "fer")
    if not recipe.oversample:
        return order
    labels = faces.labels[order]
    repeated = [
        np.resize(order[labels == place], total)  # starts again at the end, as often as needed
        for place, total in enumerate(class_totals(recipe, faces))
        if total
    ]
    together = np.concatenate(repeated)
    return together[shuffle(len(together), recipe.seed, epoch, "repeated")]


def shuffle(count: int, *where: object) -> NDArray[np.int64]:
    generator = Generator().manual_seed(derived_seed(*where))
    return torch.randperm(count, generator=generator).numpy()


def derived_seed(*where: object) -> int:
    digest = hashlib.blake2b(repr(where).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1  # a generator's seed is signed
