"""Frames made by hand, and the real far ends: a broker, and Lab Streaming Layer on this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.frame import Frame
from rankotom_edge.readings.blend import make_blend
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading

GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
PATIENCE = 60.0


def reading(
    track: int = 1,
    top: str = "happiness",
    confidence: float = 0.8,
    *,
    verdict: Any = "sure",
    second: str | None = None,
    width: float = 120.0,
) -> Reading:
    """``second`` makes a blend."""
    rest = (1 - confidence) / (len(EMOTIONS) - 1)
    shares = np.full(len(EMOTIONS), rest)
    shares[EMOTIONS.index(top)] = confidence
    blend = None
    if second is not None:
        blend = make_blend(EMOTIONS, shares, EMOTIONS.index(top), EMOTIONS.index(second))
    face = Face((200, 120, width, width), (235, 160), (285, 160), (260, 185), (260, 215), 0.9)
    reason = None if verdict == "sure" else "not confident enough"
    return Reading(track, face, GOOD, EMOTIONS, shares, shares, blend, verdict, reason)


def frame_readings(*readings: Reading, index: int = 0, captured: float = 0.0) -> FrameReadings:
    frame = Frame(np.zeros((480, 640, 3), np.uint8), index, index / 30, captured)
    return FrameReadings(frame, readings, Latency(2.0, 1.0, 12.0))


def drift_status(cause: str | None) -> DriftStatus:
    kind: Any = "steady" if cause is None else "drifted"
    return DriftStatus(kind, 0.3, 80, "", cause, None)


def wait_until(found: Callable[[], object], what: str = "it") -> Any:
    ends = time.monotonic() + PATIENCE
    while not (answer := found()):
        assert time.monotonic() < ends, f"{what} did not come"
        time.sleep(0.02)
    return answer


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    return SimpleNamespace(
        reading=reading, frame=frame_readings, drift=drift_status, wait_until=wait_until
    )


class Broker:
    """Debian's mosquitto on a port of its own, which it keeps when it starts again."""

    def __init__(self, folder: Path, *settings: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._settings = folder / "mosquitto.conf"
        lines = [f"listener {self.port} 127.0.0.1", "user root", *settings]  # reads our files
        self._settings.write_text("\n".join(lines) + "\n")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["mosquitto", "-c", str(self._settings)], stdout=-3, stderr=-3
        )
        wait_until(self._answers, "the broker")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    if shutil.which("mosquitto") is None:
        pytest.skip("mosquitto is not installed")
    started: list[Broker] = []

    def start(*settings: str) -> Broker:
        started.append(Broker(tmp_path, *(settings or ("allow_anonymous true",))))
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


class Subscriber:
    """Everything that a broker sends out, in order."""

    def __init__(self, port: int) -> None:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        self.messages: list[tuple[str, bytes, bool]] = []
        subscribed = threading.Event()
        self._client = client = Client(CallbackAPIVersion.VERSION2)
        client.on_connect = lambda *_: client.subscribe("#")
        client.on_subscribe = lambda *_: subscribed.set()
        client.on_message = lambda _, __, got: self.messages.append(
            (got.topic, got.payload, got.retain)
        )
        client.connect("127.0.0.1", port)
        client.loop_start()
        assert subscribed.wait(PATIENCE)

    def of(self, topic: str) -> list[bytes]:
        return [content for name, content, _ in list(self.messages) if name == topic]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture
def subscribe() -> Iterator[Callable[[int], Subscriber]]:
    opened: list[Subscriber] = []

    def subscribe(port: int) -> Subscriber:
        opened.append(Subscriber(port))
        return opened[-1]

    yield subscribe
    for subscriber in opened:
        subscriber.close()


@pytest.fixture(scope="session")
def lsl_on_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """liblsl looks for streams on the loopback alone. It reads this once in a process."""
    config = tmp_path_factory.mktemp("lsl") / "lsl_api.cfg"
    config.write_text(
        "[multicast]\nResolveScope = machine\nAddressesOverride = {127.0.0.1}\n[log]\nlevel = -3\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSLAPICFG", str(config))
        yield
