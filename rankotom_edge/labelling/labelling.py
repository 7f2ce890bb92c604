"""One rater's way through the faces: which is next, what was said, what is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.labelling.label_file import Label, LabelFile, check_rater
from rankotom_edge.labelling.votes import LabelledModel, newest_labels

MAX_EXPRESSIONS = 9  # a key each
HOW_TO_GO_ON = "Nothing is lost: the same command goes on where you stopped."


@dataclass(frozen=True)
class Progress:
    done: int
    total: int
    cannot_tell: int  # of those done
    enough: int | None  # labels to begin with; None if there is no such number

    @property
    def labels(self) -> int:
        """Faces with an expression: what the statistics can use."""
        return self.done - self.cannot_tell

    @property
    def to_go(self) -> int:
        return self.total - self.done

    @property
    def words(self) -> str:
        """As in "34 of 100 faces, 66 to go; enough to begin from 50"."""
        words = f"{self.done} of {self.total} {'face' if self.total == 1 else 'faces'}"
        if self.to_go:
            words += f", {self.to_go} to go"
        if self.cannot_tell:
            words += f", {self.cannot_tell} can't tell"
        if self.enough is not None:
            enough = self.labels >= self.enough
            words += "; enough to begin" if enough else f"; enough to begin from {self.enough}"
        return words


class Labelling:
    """Asks for one face after the other, in an order of the rater's own.

    Everything before the first missing face has an answer, so ``back`` always finds one. Nothing
    here tells what the model or another rater said.
    """

    def __init__(
        self,
        faces: Sequence[FaceToLabel],
        expressions: Sequence[str],
        rater: str,
        *,
        answers: Mapping[str, str | None],
        keep: Callable[[FaceToLabel, str | None], None],
        enough: int | None = None,
    ) -> None:
        """``answers``: what the rater said of faces before, by key. ``keep`` puts an answer on the
        disk; if it raises, the answer was not given.
        """
        if len(expressions) > MAX_EXPRESSIONS:
            raise RankotomError(
                f"The model has {len(expressions)} expressions, and there is a key for each of "
                f"{MAX_EXPRESSIONS} only: labelling needs a model with fewer."
            )
        self.expressions, self.rater = tuple(expressions), check_rater(rater)
        self.faces = tuple(sorted(faces, key=lambda face: _place(face.key, rater)))
        self.finished = False  # for now, or because nothing is missing
        keys = {face.key for face in faces}
        self._answers = {
            key: answer
            for key, answer in answers.items()
            if key in keys and answer in (None, *expressions)
        }
        self._keep, self._enough = keep, enough
        self._number = self._first_missing()

    @property
    def number(self) -> int:
        """Of the face in sight, from 0; the number of faces once all have an answer."""
        return self._number

    @property
    def face(self) -> FaceToLabel | None:
        """The one in sight; None once all have an answer."""
        return self.faces[self._number] if self._number < len(self.faces) else None

    @property
    def answered(self) -> bool:
        """Whether the face in sight has an answer already: the rater went back to it."""
        return self.face is not None and self.face.key in self._answers

    @property
    def earlier(self) -> str | None:
        """That answer. None if the rater could not tell."""
        return None if self.face is None else self._answers.get(self.face.key)

    @property
    def progress(self) -> Progress:
        return Progress(
            done=len(self._answers),
            total=len(self.faces),
            cannot_tell=sum(answer is None for answer in self._answers.values()),
            enough=self._enough,
        )

    def answer(self, expression: str | None) -> None:
        """None: the rater cannot tell. Goes on to the first face without an answer."""
        face = self.face
        if face is None or self.finished:
            return
        if not self.answered or self._answers[face.key] != expression:
            self._keep(face, expression)
            self._answers[face.key] = expression
        self._number = self._first_missing()

    def back(self) -> None:
        """To the face before, to change its answer."""
        self._number = max(0, self._number - 1)

    def finish(self) -> None:
        self.finished = True

    def _first_missing(self) -> int:
        for number, face in enumerate(self.faces):
            if face.key not in self._answers:
                return number
        return len(self.faces)


@contextmanager
def open_labelling(
    path: Path,
    faces: Sequence[FaceToLabel],
    model: LabelledModel,
    rater: str,
    *,
    enough: int | None,
    clock: Callable[[], datetime],
) -> Iterator[Labelling]:
    """Holds the label file as long as the rater labels, and goes on where they stopped."""
    check_rater(rater)
    with LabelFile(path) as file:

        def keep(face: FaceToLabel, expression: str | None) -> None:
            logits = tuple(float(value) for value in face.logits)
            about = (face.key, face.group, rater, expression, logits)
            file.append(Label(*about, model.name, model.sha256, clock()))

        newest = newest_labels(file.labels, model)
        answers = {key: label.expression for (key, who), label in newest.items() if who == rater}
        yield Labelling(faces, model.expressions, rater, answers=answers, keep=keep, enough=enough)


def _place(key: str, rater: str) -> bytes:
    """A shuffle of its own for each rater, which does not move when faces are added."""
    words = f"{rater}\0{key}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).digest()
