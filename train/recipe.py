"""Recipes: every setting of a training run, with the paper's value and why ours differs.

rankotom-edge train paper-ferplus     the paper, on a workstation GPU
rankotom-edge train edge-ferplus      a small network from scratch, on two CPU cores
rankotom-edge train student           the embedded model, from the teachers (make weights)
"""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from calib.errors import RankotomError
from train.augment import Strength
from train.methods.settings import (
    CrlSettings,
    EacSettings,
    MblsSettings,
    MethodName,
    RacSettings,
    ScnSettings,
)
from train.networks import NetworkName

DatasetName = Literal["ferplus", "rafdb", "affectnet"]


@dataclass(frozen=True)
class Recipe:
    """The defaults are the paper's ("Implementation Details").

    The paper names neither a network nor its initial weights; both are our choice.
    """

    name: str
    dataset: DatasetName = "ferplus"
    network: NetworkName = "resnet18"
    size: int = 224  # pixels, square
    channels: Literal[1, 3] = 3

    method: MethodName = "rank-o-tom"  # train/methods has a file for each

    # What is learned
    # The majority label, the vote shares, or the mean of the two
    targets: Literal["majority", "votes", "both"] = "majority"
    loss: Literal["focal", "cross-entropy"] = "focal"
    focal_gamma: float = 2.0
    focal_alpha: float = 0.25
    blends: bool = True  # Eq. 2's synthetic faces
    ranking_weight: float = 1.0  # the paper's balancing scalar beta; 0 leaves Eq. 1 out
    # The paper's fixed margin for all pairs; the gap that the targets of face and blend have; the
    # paper's margin on the face's own class; or RankMixup's loss on logits
    # (train/methods/rank_o_tom.py).
    # All but "fixed" also blend faces with the same label, and smooth half of the seams.
    ranking: Literal["fixed", "targets", "class", "logits"] = "fixed"
    ranking_margin: float = 0.2  # delta; the paper gives the range 0.1 to 0.3
    face_recognition: bool = True  # pseudo-labelled LFW; without it FER faces blend in pairs
    threshold_start: float = 0.95
    threshold_beta: float = 0.97  # beta of Eq. 4
    pseudo_top_only: bool = False  # Ada-CM's rule for Eq. 6: only the top class may pass
    pseudo_targets: Literal["label", "probabilities"] = "label"  # Eq. 6's class, or Eq. 5's mixture
    partners: float = 1.0  # blends (and FR faces) for each FER face of a batch
    partners_from: float = 0.0  # the share of the epochs after which they join
    distil: float = 0.0  # share of the teachers' probabilities in the targets (train/teachers)
    distil_lfw: bool = False  # also train on LFW, with the teachers' probabilities as targets
    # Share of the faces, without those that are blended, that training sees damaged
    damaged: float = 0.0
    # A face of a rare class comes (largest class / its class) ** oversample times an epoch; the
    # loss takes out again what that adds to the class's probability (train/batches.py).
    oversample: float = 0.0

    # What the other methods need (train/methods/settings.py)
    scn: ScnSettings = field(default_factory=ScnSettings)
    eac: EacSettings = field(default_factory=EacSettings)
    rac: RacSettings = field(default_factory=RacSettings)
    crl: CrlSettings = field(default_factory=CrlSettings)
    mbls: MblsSettings = field(default_factory=MblsSettings)

    # How it is learned
    epochs: int = 60
    batch: int = 64  # FER faces a step, over all processes
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: float = 5e-4
    head_rate: float = 1.0  # times the learning rate, for a last layer that starts at random
    schedule: Literal["constant", "one-cycle"] = "constant"
    bfloat16: bool = False  # on a CPU as well (--bfloat16); a GPU always computes so
    weight_decay: float = 0.0
    ema: float = 0.0  # decay of the averaged weights; 0: the last weights are the model
    dropout: float = 0.0
    # (from this share of the epochs on, train at this size); empty: always at `size`
    sizes: tuple[tuple[float, int], ...] = ()
    strength: Strength = field(default_factory=Strength)
    seed: int = 0
    every: int = 1  # train on every n-th face of the data set, for runs on a small budget

    def __post_init__(self) -> None:
        if not 0 <= self.partners <= 1:
            raise RankotomError(
                f"{self.name}: partners is {self.partners}, not from 0 to 1: a FER face has at "
                "most one partner."
            )

    @property
    def label_share(self) -> float:
        """The share of a target that is the label; the rest are votes and probabilities."""
        return (1 - self.distil) * {"majority": 1.0, "both": 0.5, "votes": 0.0}[self.targets]

    def partners_at(self, epoch: int) -> int:
        """The number of blends in a batch."""
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
    size=48,  # FERPlus has no more pixels
    channels=1,  # and no colour
    # Ten votes say more than one label: a 6 : 4 split teaches both emotions. It leaves the model
    # underconfident about the majority label, which the temperature corrects.
    targets="votes",
    # Vote shares already prevent the overconfidence that focal loss is for.
    loss="cross-entropy",
    # Soft pseudo-labels, like the vote shares.
    pseudo_targets="probabilities",
    # At the paper's weight Eq. 1 costs 19 points of accuracy in short runs from scratch
    # (train.experiments.ablation). At a tenth it costs little and orders confidence less.
    ranking_weight=0.1,
    # A partner for each face would more than triple the cost of a step on two cores.
    partners=0.125,
    # Earlier, a network from scratch would label LFW almost at random.
    partners_from=0.7,
    epochs=40,  # a little more than an hour on two cores, in bfloat16
    batch=128,  # more faces per second on a CPU than 64
    # Larger steps than the paper's, decreasing to zero: 40 epochs from scratch instead of 60.
    optimizer="adamw",
    learning_rate=2e-3,
    schedule="one-cycle",
    weight_decay=0.05,
    ema=0.998,  # nearly an ensemble of the last epochs, at no cost
    dropout=0.3,  # 28,556 faces are few for 3.4 million weights
    # Rooms are darker than FERPlus.
    strength=Strength(shift=0.08, rotation=15.0, scale=0.15, light=0.2, erase=0.4, darkest=0.1),
)

# From a face recogniser's weights (train/teachers/start_weights.py), on undamaged faces. `sizes`
# has the size that the network enlarges the crop of 48 pixels to.
TEACHER_DLIB = Recipe(
    name="teacher-dlib",
    network="dlib-112",
    size=48,
    sizes=((0.0, 112),),
    channels=1,
    targets="both",
    loss="cross-entropy",
    blends=False,
    ranking_weight=0.0,
    face_recognition=False,
    partners=0.0,
    epochs=14,
    batch=96,
    optimizer="adamw",
    learning_rate=5e-4,
    head_rate=4.0,
    schedule="one-cycle",
    weight_decay=0.05,
    ema=0.998,
    dropout=0.3,
    strength=Strength(shift=0.08, rotation=15.0, scale=0.15, light=0.2, erase=0.4),
)
TEACHER_DLIB_150 = replace(
    TEACHER_DLIB,
    name="teacher-dlib-150",
    network="dlib-150",  # as dlib trained it
    sizes=((0.0, 150),),
    epochs=8,
    oversample=0.5,
    seed=1,
)
TEACHER_FACERES = replace(
    TEACHER_DLIB,
    name="teacher-faceres",
    network="faceres-112",
    epochs=7,  # a step costs twice as much as with dlib's, and fewer are needed
    learning_rate=4e-4,
)

# The edge network: it sees damaged faces with the teachers' targets for the undamaged ones.
STUDENT = replace(
    TEACHER_DLIB,
    name="student",
    network="edge-dlib",
    sizes=((0.0, 104),),
    # The teachers' probabilities say how likely each label is, so the student is calibrated at a
    # temperature near 1, on damaged faces too (train/teachers/teacher_probabilities.py). The votes
    # in the rest of the target say what a face is a blend of.
    distil=0.7,
    distil_lfw=True,
    damaged=0.55,
    oversample=0.25,  # LFW has few rare expressions
    blends=True,
    ranking="targets",
    ranking_weight=0.3,
    partners=0.125,  # one blend for eight faces
    epochs=24,
    batch=128,  # more faces per second on a CPU than 96
    head_rate=1.0,  # from teacher-dlib's weights, including the last layer
    strength=Strength(shift=0.08, rotation=15.0, scale=0.15, light=0.2, erase=0.3),
    seed=2,
)

# A shorter cycle from the student's weights, rare classes more often.
STUDENT_2 = replace(
    STUDENT, name="student-2", epochs=5, learning_rate=2.5e-4, oversample=0.5, seed=3
)

# The embedded model: a long cycle, with student-2 among the teachers. On the faces that it had been
# trained on, student-2 was still far from the teachers' probabilities (docs/results.md). So this
# has less dropout, fewer damaged faces, a larger share of the probabilities, and more epochs.
STUDENT_3 = replace(
    STUDENT,
    name="student-3",
    distil=0.8,
    damaged=0.4,
    oversample=0.35,
    dropout=0.1,
    epochs=30,
    learning_rate=4e-4,
    seed=5,
)

RECIPES = {
    recipe.name: recipe
    for recipe in (
        PAPER_FERPLUS,
        PAPER_RAFDB,
        PAPER_AFFECTNET,
        EDGE_FERPLUS,
        TEACHER_DLIB,
        TEACHER_DLIB_150,
        TEACHER_FACERES,
        STUDENT,
        STUDENT_2,
        STUDENT_3,
    )
}

# Not a field of the recipe: a checkpoint holds its recipe, and these words may change.
PURPOSES = {
    "paper-ferplus": "the paper on FERPlus, with a ResNet-18 at 224 pixels, for a GPU",
    "paper-rafdb": "the paper on RAF-DB, with a ResNet-18 at 224 pixels, for a GPU",
    "paper-affectnet": "the paper on AffectNet, with a ResNet-50 at 224 pixels, for a GPU",
    "edge-ferplus": "a small network from scratch: grey 48 x 48 pixels, on two CPU cores",
    "teacher-dlib": "dlib's recogniser at 112 pixels; --weights from train.teachers.start_weights",
    "teacher-dlib-150": "the same at 150 pixels, rare classes more often",
    "teacher-faceres": "faceres at 112 pixels; --weights from train.teachers.start_weights",
    "student": "the embedded network's first cycle, from teachers; --weights: teacher-dlib's",
    "student-2": "its second cycle; --weights: the student's checkpoint",
    "student-3": "the embedded model, with student-2 among the teachers; --weights: student-2's",
}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise RankotomError(f"There is no recipe {name!r}. Choose one of {', '.join(RECIPES)}.")
    return RECIPES[name]


def override_recipe(recipe: Recipe, **settings: int | NetworkName | None) -> Recipe:
    """The recipe with the command line's settings; None keeps the recipe's own."""
    given: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    return replace(recipe, **given)
