"""Recipes: every knob of a training run, with the paper's value and why ours differs.

rankotom-edge train paper-ferplus     the paper, on a workstation GPU
rankotom-edge train edge-ferplus      the embedded model's first cycle, on two CPU cores
rankotom-edge train edge-ferplus-2    its second, from the first one's weights
rankotom-edge train edge-ferplus-3    its third, taught by the first two (docs/results.md)
"""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from calib.errors import RankotomError
from train.augment import Strength
from train.networks import NetworkName

DatasetName = Literal["ferplus", "rafdb", "affectnet"]


@dataclass(frozen=True)
class Recipe:
    """The defaults are the paper's ("Implementation Details")."""

    name: str
    dataset: DatasetName = "ferplus"
    network: NetworkName = "resnet18"
    size: int = 224  # pixels, square
    channels: Literal[1, 3] = 3

    # What is learned from
    targets: Literal["majority", "votes"] = "majority"  # the label, or the annotators' shares
    teacher_share: float = 0.0  # of the targets, that finished models have a say in (--teacher)
    teachers: tuple[str, ...] = ()  # the SHA-256 of their files, so that a run keeps to them
    loss: Literal["focal", "cross-entropy"] = "focal"
    focal_gamma: float = 2.0
    focal_alpha: float = 0.25
    blends: bool = True  # synthetic half-face samples
    ranking_weight: float = 1.0  # the paper's balancing scalar beta; 0 leaves Eq. 1 out
    ranking_margin: float = 0.2  # delta; the paper gives the range 0.1 to 0.3
    face_recognition: bool = True  # LFW, pseudo-labelled; without it FER faces blend in pairs
    threshold_start: float = 0.95
    threshold_beta: float = 0.97  # beta of Eq. 4
    pseudo_targets: Literal["label", "probabilities"] = "label"  # Eq. 6's class, or Eq. 5's mixture
    partners: float = 1.0  # blends (and FR faces) for each FER face of a batch
    partners_from: float = 0.0  # the share of the epochs after which they join

    # How it is learned
    epochs: int = 60
    batch: int = 64  # FER faces a step, over all processes
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: float = 5e-4
    schedule: Literal["constant", "one-cycle"] = "constant"
    weight_decay: float = 0.0
    ema: float = 0.0  # decay of the averaged weights; 0: the last weights are the model
    dropout: float = 0.0
    # (from this share of the epochs on, train at this size); empty: always at `size`
    sizes: tuple[tuple[float, int], ...] = ()
    strength: Strength = field(default_factory=Strength)
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.partners <= 1:
            raise RankotomError(
                f"{self.name}: partners is {self.partners}; a FER face has one partner at most, "
                "so it goes from 0 to 1."
            )

    def partners_at(self, epoch: int) -> int:
        """How many blends a batch has."""
        joined = epoch >= self.partners_from * self.epochs
        return round(self.batch * self.partners) if joined else 0

    def size_at(self, epoch: int) -> int:
        size = self.size
        for start, smaller in self.sizes:
            if epoch >= start * self.epochs:
                size = smaller
        return size

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


PAPER_FERPLUS = Recipe(name="paper-ferplus")
PAPER_RAFDB = replace(PAPER_FERPLUS, name="paper-rafdb", dataset="rafdb")
PAPER_AFFECTNET = replace(
    PAPER_FERPLUS, name="paper-affectnet", dataset="affectnet", network="resnet50"
)

EDGE_FERPLUS = Recipe(
    name="edge-ferplus",
    network="edge",
    size=48,  # FERPlus has no more pixels than this
    channels=1,  # nor colour
    # Ten votes say more than one label: a face that splits 6 : 4 teaches both emotions. It leaves
    # the model less confident than the majority label is right; the temperature mends that.
    targets="votes",
    # The vote shares already keep the model from over-confidence, which is what focal loss is for.
    loss="cross-entropy",
    # A soft pseudo-label is of the same kind as the vote shares beside it.
    pseudo_targets="probabilities",
    # Two cores: a full set of partners would more than treble the cost of a step.
    partners=0.125,
    # Before that a network from scratch would label LFW almost at random.
    partners_from=0.5,
    epochs=30,
    batch=64,
    optimizer="adamw",
    learning_rate=1.5e-3,
    schedule="one-cycle",
    weight_decay=0.05,
    ema=0.999,  # for free what an ensemble of the last epochs gives
    dropout=0.3,
    strength=Strength(shift=0.06, rotation=12.0, scale=0.1, light=0.15, erase=0.3),
)

EDGE_FERPLUS_2 = replace(
    EDGE_FERPLUS,
    name="edge-ferplus-2",
    epochs=18,
    batch=128,  # fewer, steadier steps: the weights only have to move on, not to be found
    # A camera sees darker rooms than FERPlus has, where the first cycle is sure and wrong.
    strength=Strength(shift=0.08, rotation=15.0, scale=0.15, light=0.2, erase=0.4, darkest=0.1),
    seed=1,
)

EDGE_FERPLUS_3 = replace(
    EDGE_FERPLUS_2,
    name="edge-ferplus-3",
    epochs=8,
    learning_rate=1e-3,  # from the mean of the first two, which is to be kept in sight
    # Two models together are right more often than each, and ten votes are few: their opinion is
    # half of what a face teaches.
    teacher_share=0.5,
    seed=2,
)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        PAPER_FERPLUS,
        PAPER_RAFDB,
        PAPER_AFFECTNET,
        EDGE_FERPLUS,
        EDGE_FERPLUS_2,
        EDGE_FERPLUS_3,
    )
}

# Beside the recipes and not inside: a checkpoint holds its recipe, and words are no knob.
PURPOSES = {
    "paper-ferplus": "the paper's FERPlus row: ResNet-18 at 224 pixels, for a GPU",
    "paper-rafdb": "the paper's RAF-DB row: ResNet-18 at 224 pixels, for a GPU",
    "paper-affectnet": "the paper's AffectNet row: ResNet-50 at 224 pixels, for a GPU",
    "edge-ferplus": "the embedded model's first cycle: grey 48 x 48 pixels, on two CPU cores",
    "edge-ferplus-2": "its second, darker faces too; --weights: the first's checkpoint",
    "edge-ferplus-3": "its third, with a --teacher; --weights: the mean of the first two",
}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise RankotomError(f"There is no recipe {name!r}; there are {', '.join(RECIPES)}.")
    return RECIPES[name]


def adapted(
    recipe: Recipe, *, epochs: int | None, seed: int | None, network: NetworkName | None
) -> Recipe:
    """The recipe with what was asked for on the command line; None is the recipe's own."""
    return replace(
        recipe,
        epochs=recipe.epochs if epochs is None else epochs,
        seed=recipe.seed if seed is None else seed,
        network=recipe.network if network is None else network,
    )
