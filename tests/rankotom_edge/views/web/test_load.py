"""Twenty browsers on the live loop: what they cost it, in the same run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, run_loop
from rankotom_edge.live.reader import Reader
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.sources import open_source

FRAMES = 60
TRIES = 4

# In a process of its own, as browsers are. The first takes nothing of what it asked for; the
# others say, when they are told to stop, how much the one that got least has got.
READERS = """
import selectors, socket, sys
port, streams = int(sys.argv[1]), selectors.DefaultSelector()
held, got = [], {}
for number in range(20):
    for path in sys.argv[2:]:
        reader = socket.create_connection(("127.0.0.1", port))
        held.append(reader)
        reader.sendall(f"GET {path} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n".encode())
        if number:
            got[reader] = 0
            streams.register(reader, selectors.EVENT_READ)
streams.register(sys.stdin, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in streams.select():
        if key.fileobj is sys.stdin:
            sys.exit(print(min(got.values())))
        got[key.fileobj] += len(key.fileobj.recv(65536))
"""


@contextmanager
def twenty_readers(port: int, *paths: str) -> Iterator[list[int]]:
    least: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", READERS, str(port), *paths],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as readers:
        assert readers.stdout is not None
        assert readers.stdout.readline() == "ready\n"
        yield least
        said, _ = readers.communicate("stop\n", timeout=60)
        least.append(int(said))


def test_twenty_readers_one_of_them_stalled_cost_a_camera_less_than_a_tenth_of_its_pace(
    stage: Any, artifact: Any
) -> None:
    """At a camera's thirty frames a second, with the real loop. The machine may be busy, so the
    best of some pairs counts, each of a run without readers and one with them."""
    ratios = []
    with FaceDetector("short") as detector, Classifier(artifact) as classifier:

        def pace() -> float:
            reader, began = Reader(detector.detect, classifier, 0.5), time.monotonic()
            with open_source("demo", paced=True) as source:
                actions, stats = KeyActions(), RunStats(began)
                stop = Stop(frames=FRAMES)
                run_loop(source, reader, stage.view, actions, stats, stop, [stage.metrics])
            return FRAMES / (time.monotonic() - began)

        for _ in range(TRIES):
            alone = pace()
            with twenty_readers(stage.port, "/api/live", "/video") as least:
                watched = pace()
            assert least[0] > 5_000  # numbers and pictures came to each of the nineteen
            ratios.append(watched / alone)
            if ratios[-1] > 0.9:
                break
    assert max(ratios) > 0.9, ratios


@pytest.mark.parametrize("paths", [("/api/live", "/video"), ("/api/readings",)])
def test_what_twenty_readers_cost_beside_a_loop_that_runs_flat_out_is_a_part_of_one_core(
    stage: Any, artifact: Any, paths: tuple[str, ...]
) -> None:
    """In CPU time, which a busy machine does not change: all that this process spends beside the
    loop's own thread, with readers less without. If each reader had its own picture made, or as
    many as it can take, it would be several times this."""
    with FaceDetector("short") as detector, Classifier(artifact) as classifier:

        def beside() -> tuple[float, float]:
            """Seconds of CPU a second, in other threads than this one; and how long it took."""
            began, spent = time.monotonic(), time.process_time() - time.thread_time()
            with open_source("demo") as source:
                reader, stats = Reader(detector.detect, classifier, 0.5), RunStats(began)
                stop = Stop(frames=200)
                run_loop(source, reader, stage.view, KeyActions(), stats, stop, [stage.metrics])
            now, took = time.process_time() - time.thread_time(), time.monotonic() - began
            return (now - spent) / took, took

        (alone, quick), (again, quicker) = beside(), beside()
        with twenty_readers(stage.port, *paths) as least:
            (watched, slow), (still, slower) = beside(), beside()
        assert least[0] > 1_000
    alone, watched = min(alone, again), min(watched, still)
    ratio = min(quick, quicker) / min(slow, slower)
    print(f"{', '.join(paths)}: serving took {watched - alone:.2f} of a core, pace {ratio:.2f}")
    assert watched - alone < 0.15
