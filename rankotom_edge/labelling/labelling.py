"""One rater's way through the faces: which is next, what was said, what is missing."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.labelling.label_file import Label, LabelFile, check_rater
from rankotom_edge.labelling.votes import LabelledModel, newest_labels

MAX_EXPRESSIONS = 9  # a key each
QUESTION = "Which expression does this face show?"
CANT_TELL = "can't tell"


@dataclass(frozen=True)
class Progress:
    done: int
    total: int
    cannot_tell: int  # of those done; the statistics cannot use them
    enough: int | None  # labels to begin with; None if there is no such number

    @property
    def to_go(self) -> int:
        return self.total - self.done

    @property
    def words(self) -> str:
        """As in "34 of 100 faces, 66 to go; enough to begin from 50"."""
        words = f"{self.done} of {self.total} {'face' if self.total == 1 else 'faces'}"
        if self.to_go:
            words += f", {self.to_go} to go"
        if self.enough is not None:
            begin = self.enough + self.cannot_tell
            words += "; enough to begin" + (f" from {begin}" if self.done < begin else "")
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
        given: Mapping[str, str | None],
        keep: Callable[[FaceToLabel, str | None], None],
        enough: int | None = None,
    ) -> None:
        """``given``: the rater's answers so far, by face. ``keep`` puts one on the disk; if it
        raises, the answer was not given.
        """
        if len(expressions) > MAX_EXPRESSIONS:
            raise RankotomError(
                f"The model has {len(expressions)} expressions, and there is a key for each of "
                f"{MAX_EXPRESSIONS} only: labelling needs a model with fewer."
            )
        self.expressions, self.rater = tuple(expressions), check_rater(rater)
        self.answers: dict[str, str | None] = {
            str(number): name for number, name in enumerate(expressions, start=1)
        }
        self.answers |= {"0": None, "?": None}
        self.faces = tuple(sorted(faces, key=lambda face: _place(face.key, rater)))
        self.finished = False  # for now, or because nothing is missing
        keys = {face.key for face in faces}
        self._given = {
            key: answer
            for key, answer in given.items()
            if key in keys and answer in (None, *expressions)
        }
        self._keep, self._enough = keep, enough
        self.number = self._first_missing()  # of the face in sight, from 0

    @property
    def face(self) -> FaceToLabel | None:
        """The one in sight; None once all have an answer."""
        return self.faces[self.number] if self.number < len(self.faces) else None

    @property
    def complete(self) -> bool:
        return len(self._given) == len(self.faces)

    @property
    def said(self) -> str | None:
        """The answer that the face in sight has already, if the rater went back to it."""
        return self._said(self.number)

    @property
    def said_before(self) -> str | None:
        """The answer that ``back`` leads to; None at the first face."""
        return self._said(self.number - 1)

    @property
    def progress(self) -> Progress:
        return Progress(
            done=len(self._given),
            total=len(self.faces),
            cannot_tell=sum(answer is None for answer in self._given.values()),
            enough=self._enough,
        )

    @property
    def summary(self) -> str:
        """What a rater reads who has finished, or has nothing left to answer."""
        progress = self.progress
        if not self.complete:
            return (
                f"{progress.words}. Nothing is lost: start the same command again to go on with "
                "the next face."
            )
        if progress.total == 1:
            return "The face has an answer."
        return f"All {progress.total} faces have an answer."

    def press(self, key: str) -> bool:
        """The keys of every view. False if the key means nothing here."""
        if self.finished:
            return False
        if key in ("q", "esc") or (key == "enter" and self.complete):
            self.finished = True
        elif key in ("b", "backspace"):
            self.number = max(0, self.number - 1)
        elif key in self.answers:
            self._answer(self.answers[key])
        else:
            return False
        return True

    def _answer(self, expression: str | None) -> None:
        """Goes on to the first face without an answer."""
        face = self.face
        if face is None:
            return
        if face.key not in self._given or self._given[face.key] != expression:
            self._keep(face, expression)
            self._given[face.key] = expression
        self.number = self._first_missing()

    def _said(self, number: int) -> str | None:
        if not 0 <= number < len(self.faces) or self.faces[number].key not in self._given:
            return None
        return self._given[self.faces[number].key] or CANT_TELL

    def _first_missing(self) -> int:
        for number, face in enumerate(self.faces):
            if face.key not in self._given:
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
        given = {key: label.expression for (key, who), label in newest.items() if who == rater}
        yield Labelling(faces, model.expressions, rater, given=given, keep=keep, enough=enough)


def print_summary(labelling: Labelling) -> None:
    """Also after an interrupt: nobody should think that their labels are lost."""
    with suppress(OSError):  # the terminal is gone
        print(labelling.summary, file=sys.stderr, flush=True)


def _place(key: str, rater: str) -> bytes:
    """A shuffle of its own for each rater, which does not move when faces are added."""
    words = f"{rater}\0{key}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(words).digest()
