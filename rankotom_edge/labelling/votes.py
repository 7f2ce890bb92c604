"""From labels to arrays: what each rater said of each face, for the statistics in calib."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from calib.arrays import FloatArray, IntArray
from calib.errors import RankotomError
from calib.trial_gate import FEWEST_GROUPS
from rankotom_edge.labelling.label_file import Label

NO_VOTE = -1  # was not asked, or cannot tell


@dataclass(frozen=True)
class LabelledModel:
    """The model whose confidence is judged; ``expressions`` in the order of its logits."""

    name: str
    sha256: str
    expressions: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """Labels, or faces, of the file that are not among the votes."""

    other_models: int = 0  # labels of faces as another model read them
    unknown_expressions: int = 0  # labels that name no expression of this model
    other_faces: int = 0  # faces that were not asked for
    cannot_tell: int = 0  # faces of which no rater could tell

    @property
    def words(self) -> tuple[str, ...]:
        """A line for each kind that there is."""
        counts = (
            (self.other_models, "label", "of another model"),
            (self.unknown_expressions, "label", "of an expression that this model does not have"),
            (self.other_faces, "face", "labelled before and not among these"),
            (self.cannot_tell, "face", "of which nobody could tell"),
        )
        return tuple(
            f"left out: {count} {noun if count == 1 else noun + 's'} {what}"
            for count, noun, what in counts
            if count
        )


@dataclass(frozen=True, eq=False)
class Votes:
    """n faces with at least one vote, in the order in which they were first labelled."""

    faces: tuple[str, ...]  # keys
    groups: IntArray  # (n,): equal numbers, equal groups
    people: int | None  # tracks or folders, where the groups are only moments of them
    logits: FloatArray  # (n, k)
    raters: tuple[str, ...]
    by_rater: IntArray  # (n, raters): the index of an expression, or NO_VOTE
    left_out: LeftOut

    @property
    def counts(self) -> IntArray:
        """(n, k): how many raters named each expression."""
        named = self.by_rater[:, :, np.newaxis] == np.arange(self.logits.shape[1])
        counts: IntArray = named.sum(axis=1, dtype=np.int64)
        return counts


def newest_labels(labels: Sequence[Label], model: LabelledModel) -> dict[tuple[str, str], Label]:
    """By face and rater, for this model: a later line replaces an earlier one."""
    newest = {(label.face, label.rater): label for label in labels if label.sha256 == model.sha256}
    for label in newest.values():
        if len(label.logits) != len(model.expressions):
            raise RankotomError(
                f"{label.rater}'s label of the face {label.face} has {len(label.logits)} logits, "
                f"and {model.name} has {len(model.expressions)} expressions. The label file was "
                "changed; choose another."
            )
    return newest


def count_votes(
    labels: Sequence[Label], model: LabelledModel, faces: Collection[str] | None = None
) -> Votes:
    """``faces``: the keys to count; by default every face in the file."""
    newest = newest_labels(labels, model)
    known = set(model.expressions)
    strange = [label for label in newest.values() if label.expression not in (None, *known)]
    wanted = [
        label
        for label in newest.values()
        if label.expression in (None, *known) and (faces is None or label.face in faces)
    ]
    votes = [label for label in wanted if label.expression is not None]
    keys = tuple(dict.fromkeys(label.face for label in votes))
    raters = tuple(sorted({label.rater for label in votes}))
    rows = {key: row for row, key in enumerate(keys)}
    by_rater = np.full((len(keys), len(raters)), NO_VOTE, np.int64)
    logits = np.zeros((len(keys), len(model.expressions)))
    groups = [""] * len(keys)
    for label in votes:
        row = rows[label.face]
        assert label.expression is not None
        by_rater[row, raters.index(label.rater)] = model.expressions.index(label.expression)
        logits[row], groups[row] = label.logits, label.group
    people = [group.rpartition("/")[0] or group for group in groups]
    enough = len(set(people)) >= FEWEST_GROUPS
    names = people if enough else groups
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    others = {key for key, _ in newest} - set(faces) if faces is not None else set()
    left_out = LeftOut(
        other_models=sum(label.sha256 != model.sha256 for label in labels),
        unknown_expressions=len(strange),
        other_faces=len(others),
        cannot_tell=len({label.face for label in wanted} - set(keys)),
    )
    return Votes(
        faces=keys,
        groups=np.array([numbers[name] for name in names], np.int64),
        people=None if enough or people == groups else len(set(people)),
        logits=logits,
        raters=raters,
        by_rater=by_rater,
        left_out=left_out,
    )
