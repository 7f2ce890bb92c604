"""One moment of each expression episode: so many frames of a video are so few independent faces."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from rankotom_edge.labelling.face import FaceToLabel

# Seconds, chosen by eye.
SHORTEST = 0.3  # a shorter episode is a flicker between two expressions
LONGEST = 10.0  # as long as the drift monitor waits before it reads a track again
GAP = 1.0  # without the face: what comes after is another episode
MOST_FACES = 2_000  # whose pictures are held in memory


@dataclass
class Episode:
    """A track that shows one expression. ``face`` is of a moment drawn at random from those so far,
    each with the same chance, so that sure and unsure moments come as often as they are seen."""

    expression: str
    start: float
    random: Random
    end: float = 0.0
    moments: int = 0
    face: FaceToLabel | None = None

    def goes_on(self, expression: str, time: float) -> bool:
        return (
            expression == self.expression
            and 0 <= time - self.end < GAP
            and time - self.start < LONGEST
        )

    def add(self, time: float, make: Callable[[], FaceToLabel]) -> None:
        self.end = time
        self.moments += 1
        if self.random.random() * self.moments < 1:
            self.face = make()

    @property
    def is_long_enough(self) -> bool:
        return self.end - self.start >= SHORTEST


class Episodes:
    """The same readings give the same faces in every run."""

    def __init__(self) -> None:
        self._open: dict[int, Episode] = {}  # by track
        self._faces: dict[str, FaceToLabel] = {}  # of the closed episodes, by key

    def add(
        self, track: int, time: float, expression: str, make: Callable[[], FaceToLabel]
    ) -> None:
        """``make`` cuts the face out; it is called for a few moments of each episode."""
        episode = self._open.get(track)
        if episode is None or not episode.goes_on(expression, time):
            self._close(track)
            episode = Episode(expression, time, Random(f"{track} {time:.3f}"))
            self._open[track] = episode
        episode.add(time, make)

    @property
    def full(self) -> bool:
        return len(self._faces) >= MOST_FACES

    def count(self) -> tuple[int, int]:
        """Of the closed ones: how many, and of how many tracks."""
        groups = (face.group for face in self._faces.values())
        return len(self._faces), len({group.rpartition("/")[0] for group in groups})

    def faces(self) -> list[FaceToLabel]:
        """Of all episodes so far; the open ones end here."""
        for track in list(self._open):
            self._close(track)
        return list(self._faces.values())

    def _close(self, track: int) -> None:
        episode = self._open.pop(track, None)
        if episode is not None and episode.is_long_enough and not self.full:
            assert episode.face is not None
            self._faces.setdefault(episode.face.key, episode.face)
