"""The hyperparameters of the methods, each with its source.

"Paper" is the method's publication, "code" what its authors released. Where the two disagree, the
comment says which one is followed.
"""

from dataclasses import dataclass
from typing import Literal

MethodName = Literal["rank-o-tom", "cross-entropy", "focal", "scn", "eac", "rac", "crl", "mbls"]


@dataclass(frozen=True)
class ScnSettings:
    """Self-Cure Network (Wang et al. 2020)."""

    high_share: float = 0.7  # beta, in paper and code
    # delta 1. Paper 0.15 at a batch of 1024; the authors' README: 0.07 at 64 gives the same.
    margin: float = 0.07
    relabel_margin: float = 0.2  # delta 2, in paper and code
    # The share of the epochs before labels change. Paper: 10 of 40, code: 10 of 70, both from
    # face-trained weights. In short runs a network is not right that early, so half of the run.
    relabel_from: float = 0.5
    # Paper: only faces of low importance. Code: every face. This follows the paper.
    relabel: Literal["low", "all"] = "low"


@dataclass(frozen=True)
class AttentionSettings:
    """What EAC and RAC share: maps of a face and of its mirror image should agree.

    The authors also add noise to the pictures (EAC) or RandAugment (RAC). All rows of Table 1 share
    one augmentation, so of the authors' only the holes are here: they are part of the method.
    """

    weight: float  # lambda
    erase_chance: float  # of random erasing
    # Code: the hole's share of the picture. Ours is a square, theirs a rectangle.
    erase_area: tuple[float, float] = (0.02, 0.25)
    # Code, for labels taken as they are: the mirror image has the same hole as the face. With noisy
    # label files the code erases both apart, which is the idea of the paper's title.
    erase: Literal["apart", "together"] = "together"
    # Share of the run over which the weight grows to its value, in neither paper nor code: maps of
    # an untrained network agree because they are near zero.
    warm_up: float = 0.1


@dataclass(frozen=True)
class EacSettings(AttentionSettings):
    """Erasing Attention Consistency (Zhang et al. 2022)."""

    weight: float = 5.0  # paper and code
    erase_chance: float = 0.5  # code


@dataclass(frozen=True)
class RacSettings(AttentionSettings):
    """Re-balanced attention consistency and smooth labels (Zhang et al. 2023)."""

    weight: float = 0.1  # code
    erase_chance: float = 0.25  # code
    smoothing: float = 0.3  # epsilon, code
    # Code: N / (10 N_k), whose sum over RAF-DB's classes is 10.1. Over FERPlus's it is 39.6, nine
    # tenths of it contempt, disgust and fear; "normalised" gives every data set RAF-DB's sum.
    class_weights: Literal["normalised", "as written"] = "normalised"


@dataclass(frozen=True)
class CrlSettings:
    """Correctness Ranking Loss (Moon et al. 2020), with vote shares for its histories."""

    weight: float = 1.0  # code


@dataclass(frozen=True)
class MblsSettings:
    """Margin-based Label Smoothing (Liu et al. 2022)."""

    weight: float = 0.1  # code
    margin: float = 10.0  # code; 6 to 10 are usual
