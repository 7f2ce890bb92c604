"""Real inlets of Lab Streaming Layer read what the outlets send."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.publish.stream import Outgoing

pylsl = pytest.importorskip("pylsl", reason="pylsl is not installed", exc_type=ImportError)
from rankotom_edge.publish.lsl import (  # noqa: E402
    FACE_CHANNELS,
    MARKERS,
    MAX_BUFFERED,
    NAME,
    LslReceiver,
    in_lsl_clock,
)

CHANNELS = (*(name for name, _ in FACE_CHANNELS), *EMOTIONS)


@pytest.fixture
def camera() -> str:
    """A name that nothing else on this machine streams under."""
    return f"camera {uuid.uuid4()}"


@pytest.fixture
def receiver(lsl_on_this_machine: None, camera: str) -> Iterator[LslReceiver]:
    with closing(LslReceiver(EMOTIONS, camera)) as receiver:
        yield receiver


def inlet_of(name: str, camera: str) -> Any:
    found = pylsl.resolve_bypred(
        f"name='{name}' and contains(source_id, '{camera}')", minimum=1, timeout=60
    )
    assert len(found) == 1
    inlet = pylsl.StreamInlet(found[0])
    inlet.open_stream(60)
    return inlet


def test_every_face_is_a_sample_whose_channels_have_names(
    receiver: LslReceiver, camera: str, made: Any
) -> None:
    inlet = inlet_of(NAME, camera)
    info = inlet.info(60)
    assert tuple(info.get_channel_labels()) == CHANNELS
    assert info.get_channel_units()[-1] == "share"
    made.wait_until(lambda: receiver.connected, "the inlet")
    faces = made.reading(4), made.reading(9, "fear", 0.6, verdict="unsure")
    receiver.send(Outgoing.of(made.frame(*faces, index=12)))
    samples = [dict(zip(CHANNELS, inlet.pull_sample(60)[0], strict=True)) for _ in range(2)]
    assert [each["track"] for each in samples] == [4, 9]
    assert {(each["frame"], each["faces"]) for each in samples} == {(12, 2)}
    assert samples[0]["happiness"] == pytest.approx(0.8)
    assert [each["sure"] for each in samples] == [1, 0]
    assert (samples[0]["x"], samples[0]["width"]) == (200, 120)


def test_a_frame_without_a_face_is_a_sample_too(
    receiver: LslReceiver, camera: str, made: Any
) -> None:
    inlet = inlet_of(NAME, camera)
    made.wait_until(lambda: receiver.connected, "the inlet")
    receiver.send(Outgoing.of(made.frame(index=3)))
    frame, faces, *rest = inlet.pull_sample(60)[0]
    assert (frame, faces) == (3, 0)
    assert all(math.isnan(value) for value in rest)


def test_the_time_stamp_is_the_capture_in_lsls_clock(
    receiver: LslReceiver, camera: str, made: Any
) -> None:
    inlet = inlet_of(NAME, camera)
    made.wait_until(lambda: receiver.connected, "the inlet")
    before = pylsl.local_clock()
    captured = time.monotonic()
    after = pylsl.local_clock()
    receiver.send(Outgoing.of(made.frame(captured=captured)))
    _, stamp = inlet.pull_sample(60)
    assert before - 0.001 <= stamp <= after + 0.001
    assert in_lsl_clock(captured - 5) == pytest.approx(stamp - 5, abs=0.001)


def test_a_pause_between_two_clocks_does_not_move_the_time_stamp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local_clock, pauses = pylsl.local_clock, iter([0.5])

    def pausing() -> float:
        now = float(local_clock())
        time.sleep(next(pauses, 0.0))
        return now

    expected = in_lsl_clock(100.0)
    monkeypatch.setattr(pylsl, "local_clock", pausing)
    assert in_lsl_clock(100.0) == pytest.approx(expected, abs=0.1)


def test_blends_and_drift_are_markers_at_the_time_of_their_frame(
    receiver: LslReceiver, camera: str, made: Any
) -> None:
    inlet = inlet_of(MARKERS, camera)
    made.wait_until(lambda: receiver.connected, "the inlet")
    blended = made.frame(made.reading(2, second="surprise"), captured=time.monotonic() - 9)
    receiver.send(Outgoing.of(blended, made.drift("faces are small")))
    pulled = [inlet.pull_sample(60) for _ in range(2)]
    assert [sample for sample, _ in pulled] == [
        ["blend begin/2/happiness+surprise"],
        ["drift begin/faces are small"],
    ]
    captured = in_lsl_clock(blended.frame.captured)
    assert [stamp for _, stamp in pulled] == pytest.approx([captured] * 2, abs=0.001)


def test_a_recorder_that_does_not_read_does_not_delay_the_stream(
    receiver: LslReceiver, camera: str, made: Any
) -> None:
    """More samples than liblsl keeps for it: sending returns all the same."""
    inlet = inlet_of(NAME, camera)
    made.wait_until(lambda: receiver.connected, "the inlet")
    frame = Outgoing.of(made.frame(made.reading()))
    for _ in range(2 * 100 * MAX_BUFFERED):
        receiver.send(frame)
    assert inlet.pull_sample(60)[0] is not None
