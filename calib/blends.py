"""Blends of two emotions: their names, and whether the model finds the two that people saw.

FERPlus has ten annotators' votes for every face. A face is a **compound** when its votes split
between two emotions: together they have at least 80 % of the votes, and the lesser of them at
least 30 %. Every other emotion then has at most 20 %, so the pair is unique. Neutral counts like
any other class: people vote "neutral + sadness" for a slight sadness. ``rankotom-edge evaluate
--dataset ferplus --split valid`` lists the compounds of FERPlus with their counts.

RAF-DB's compound set has names instead of votes: give each face one vote for each of the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    as_classes,
    as_numbers,
    as_probabilities,
    as_votes,
)
from calib.errors import RankotomError

# The eleven of RAF-DB, as the paper lists them (appendix, "Datasets").
COMPOUNDS: Mapping[frozenset[str], str] = MappingProxyType(
    {
        frozenset({"happiness", "surprise"}): "happily surprised",
        frozenset({"happiness", "disgust"}): "happily disgusted",
        frozenset({"sadness", "fear"}): "sadly fearful",
        frozenset({"sadness", "anger"}): "sadly angry",
        frozenset({"sadness", "surprise"}): "sadly surprised",
        frozenset({"sadness", "disgust"}): "sadly disgusted",
        frozenset({"fear", "anger"}): "fearfully angry",
        frozenset({"fear", "surprise"}): "fearfully surprised",
        frozenset({"anger", "surprise"}): "angrily surprised",
        frozenset({"anger", "disgust"}): "angrily disgusted",
        frozenset({"disgust", "surprise"}): "disgustedly surprised",
    }
)

# Of ten votes, eight for the pair and three for the lesser. Chosen by eye.
PAIR_SHARE = 0.8
SECOND_SHARE = 0.3
# 3 / 10 and 0.1 + 0.2 are the same share except for rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CompoundFaces:
    """Which faces are compounds, and the two classes of each, the more voted first.

    ``pairs`` is (n, 2); where ``mask`` is false, its row means nothing.
    """

    mask: BoolArray
    pairs: IntArray


@dataclass(frozen=True, eq=False)
class CompoundHeatmap:
    """The paper's heatmap: a row per compound, a column per emotion, the mean probability in each.

    ``constituents`` are the two columns to frame in each row; ``matches`` is the share of the
    row's faces whose two likeliest emotions are those two. The row with most faces comes first.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    confidence: FloatArray
    counts: tuple[int, ...]
    constituents: tuple[tuple[int, int], ...]
    matches: tuple[float, ...]

    def as_json(self) -> list[dict[str, object]]:
        """A record per blend, the most common first."""
        return [
            {
                "name": name,
                "emotions": [self.columns[column] for column in self.constituents[row]],
                "count": self.counts[row],
                "match": self.matches[row],
                "confidence": dict(zip(self.columns, self.confidence[row].tolist(), strict=True)),
            }
            for row, name in enumerate(self.rows)
        ]


def blend_name(first: str, second: str) -> str:
    """The paper's name for the pair in either order, else the two words as given."""
    return COMPOUNDS.get(frozenset({first, second}), f"{first} + {second}")


def compound_faces(votes: ArrayLike) -> CompoundFaces:
    """The faces whose votes split between two emotions; a face without votes is not a compound."""
    counts = as_numbers(votes, "votes", dimensions=2)
    if counts.shape[1] < 2:
        raise RankotomError("A blend needs at least two classes, and there is one.")
    shares = vote_shares(as_votes(counts, *counts.shape))
    pairs = _likeliest_two(shares)
    pair_shares = np.take_along_axis(shares, pairs, axis=1)
    together = pair_shares.sum(axis=1) >= PAIR_SHARE - ROUNDING
    mask = together & (pair_shares[:, 1] >= SECOND_SHARE - ROUNDING)
    return CompoundFaces(mask=mask, pairs=pairs)


def pair_matches(probabilities: FloatArray, compounds: CompoundFaces) -> BoolArray:
    """For each face, whether its two likeliest emotions are the voted pair, in either order."""
    likeliest = np.sort(_likeliest_two(probabilities), axis=1)
    matched: BoolArray = (likeliest == np.sort(compounds.pairs, axis=1)).all(axis=1)
    return matched & compounds.mask


def top2_match(probabilities: ArrayLike, votes: ArrayLike) -> float | None:
    """The share of compound faces whose two likeliest emotions are the voted two.

    None where no face is a compound.
    """
    rows = as_probabilities(probabilities)
    compounds = compound_faces(as_votes(votes, *rows.shape))
    if not compounds.mask.any():
        return None
    return float(pair_matches(rows, compounds)[compounds.mask].mean())


def vote_distance(probabilities: ArrayLike, votes: ArrayLike) -> float:
    """Mean total variation between prediction and votes: 1/2 sum |p - v|, from 0 to 1.

    It is the share of the confidence that would have to move to other emotions to match the votes.
    Faces without votes are left out; NaN where no face has any.
    """
    rows = as_probabilities(probabilities)
    distances = vote_distances(rows, as_votes(votes, *rows.shape))
    voted = ~np.isnan(distances)
    return float(distances[voted].mean()) if voted.any() else float("nan")


def vote_distances(probabilities: FloatArray, votes: FloatArray) -> FloatArray:
    """The distance of each face; NaN where it has no votes."""
    variation = np.abs(probabilities - vote_shares(votes)).sum(axis=1) / 2
    distances: FloatArray = np.where(votes.sum(axis=1) > 0, variation, np.nan)
    return distances


def compound_heatmap(
    probabilities: ArrayLike, votes: ArrayLike, classes: Sequence[str]
) -> CompoundHeatmap:
    rows = as_probabilities(probabilities)
    names = as_classes(classes, rows.shape[1])
    compounds = compound_faces(as_votes(votes, *rows.shape))
    faces = rows[compounds.mask]
    matched = pair_matches(rows, compounds)[compounds.mask]
    pairs, row_of_face, counts = np.unique(
        np.sort(compounds.pairs[compounds.mask], axis=1),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    row_of_face = row_of_face.reshape(-1)
    order = np.argsort(-counts, kind="stable")
    means = [faces[row_of_face == row].mean(axis=0) for row in order]
    return CompoundHeatmap(
        rows=tuple(blend_name(names[pairs[row, 0]], names[pairs[row, 1]]) for row in order),
        columns=names,
        confidence=np.array(means).reshape(len(order), len(names)),
        counts=tuple(int(counts[row]) for row in order),
        constituents=tuple((int(pairs[row, 0]), int(pairs[row, 1])) for row in order),
        matches=tuple(float(matched[row_of_face == row].mean()) for row in order),
    )


def vote_shares(votes: FloatArray) -> FloatArray:
    """Each row divided by its sum; a row without votes stays zero."""
    totals = votes.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(votes, totals, out=np.zeros_like(votes), where=totals > 0)
    return shares


def _likeliest_two(rows: FloatArray) -> IntArray:
    order: IntArray = np.argsort(-rows, axis=1, kind="stable")
    return order[:, :2]
