"""Debian's mosquitto hears what is sent, is restarted, stalls, and asks for passwords."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from calib.errors import RankotomError
from rankotom_edge.publish.broker import parse_broker
from rankotom_edge.publish.stream import QUEUE, NotSentError, Outgoing, Stream

pytest.importorskip("paho.mqtt", reason="paho-mqtt is not installed")
from rankotom_edge.publish.mqtt import MqttReceiver

Make = Callable[..., MqttReceiver]


@pytest.fixture
def connect() -> Make:
    """A receiver of the broker on this port; the test closes it."""

    def connect(port: int, *options: Any, user: str = "", scheme: str = "mqtt") -> MqttReceiver:
        broker = parse_broker(f"{scheme}://{user}127.0.0.1:{port}/kitchen", *options)
        return MqttReceiver(broker, "ferplus-int8", lambda: "playing")

    return connect


def test_readings_state_and_discovery_arrive_and_in_the_end_it_is_offline(
    start_broker: Any, subscribe: Any, connect: Make, made: Any
) -> None:
    broker = start_broker()
    heard = subscribe(broker.port)
    with Stream(connect(broker.port)) as stream:
        for index in range(5):
            stream.write(made.frame(made.reading(), index=index))
        made.wait_until(lambda: heard.of("kitchen/state"), "the state")
        assert stream.connected
    assert (stream.sent, stream.dropped) == (5, 0)
    made.wait_until(lambda: len(heard.of("kitchen/availability")) == 2, "offline")
    assert heard.of("kitchen/availability") == [b"online", b"offline"]
    lines = [json.loads(line) for line in heard.of("kitchen/readings")]
    assert [line["frame"] for line in lines] == list(range(5))
    assert lines[0] == made.frame(made.reading()).as_json()
    states = [json.loads(state) for state in heard.of("kitchen/state")]
    assert states[0]["expression"] == "happiness"
    assert len(states) < 5
    (found,) = heard.of("homeassistant/device/kitchen/config")
    assert json.loads(found)["components"].keys() >= {"expression", "confidence", "unsure", "drift"}
    late = subscribe(broker.port)
    made.wait_until(lambda: len(late.messages) == 2, "what the broker keeps")
    assert {(topic, kept) for topic, _, kept in late.messages} == {
        ("kitchen/availability", True),
        ("homeassistant/device/kitchen/config", True),
    }


def test_a_broker_that_restarts_gets_everything_again(
    start_broker: Any, subscribe: Any, connect: Make, made: Any
) -> None:
    broker = start_broker()
    with Stream(connect(broker.port)) as stream:
        stream.write(made.frame(index=0))
        made.wait_until(lambda: stream.sent == 1)
        broker.stop()
        made.wait_until(lambda: not stream.connected, "the loss")
        stream.write(made.frame(index=1))
        made.wait_until(lambda: stream.dropped >= 1, "the drop")
        broker.start()
        heard = subscribe(broker.port)
        made.wait_until(lambda: stream.connected, "the new connection")
        stream.write(made.frame(made.reading(), index=2))
        made.wait_until(lambda: heard.of("kitchen/readings"), "a reading")
        made.wait_until(lambda: heard.of("kitchen/state"), "the state")
        assert b"online" in heard.of("kitchen/availability")
        assert len(heard.of("homeassistant/device/kitchen/config")) == 1
        assert json.loads(heard.of("kitchen/readings")[0])["frame"] == 2


def test_a_broker_that_is_not_there_at_first_is_found_later(
    start_broker: Any, connect: Make, made: Any
) -> None:
    broker = start_broker()
    broker.stop()
    receiver = connect(broker.port)
    assert receiver.problem is not None
    assert "refused" in receiver.problem
    with Stream(receiver) as stream:
        stream.write(made.frame())
        made.wait_until(lambda: stream.dropped == 1, "the drop")
        broker.start()
        made.wait_until(lambda: stream.connected, "the connection")
        stream.write(made.frame())
        made.wait_until(lambda: stream.sent == 1)


def test_a_broker_that_stands_still_costs_frames_and_not_the_loops_time(
    start_broker: Any, connect: Make, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankotom_edge.publish.mqtt.SEND", 0.2)
    broker = start_broker()
    with Stream(connect(broker.port)) as stream:
        crowd = made.frame(*(made.reading(track) for track in range(1000)))
        stream.write(crowd)
        made.wait_until(lambda: stream.sent == 1)
        os.kill(broker.process.pid, signal.SIGSTOP)
        written = 1
        while not stream.dropped:  # until the kernel's buffers are full
            stream.write(crowd)
            written += 1
            made.wait_until(lambda: stream.sent + stream.dropped == written)  # noqa: B023
        # It goes on only after the last of these: a loop that waited for it would wait forever.
        for _ in range(10 * QUEUE):
            stream.write(crowd)
        assert stream.dropped > 8 * QUEUE
        os.kill(broker.process.pid, signal.SIGCONT)


def test_a_program_that_is_killed_leaves_its_last_will(
    start_broker: Any, subscribe: Any, made: Any
) -> None:
    broker = start_broker()
    heard = subscribe(broker.port)
    command = ["rankotom_edge", "camera", "--source", "demo", "--view", "none"]
    url = f"mqtt://127.0.0.1:{broker.port}/hall"
    with subprocess.Popen(
        [sys.executable, "-m", *command, "--mqtt", url], stderr=subprocess.DEVNULL
    ) as program:
        made.wait_until(lambda: heard.of("hall/state"), "the state")
        program.kill()
    made.wait_until(lambda: b"offline" in heard.of("hall/availability"), "the last will")


def test_a_lost_camera_is_a_state_although_no_frame_comes(
    start_broker: Any, subscribe: Any, made: Any
) -> None:
    broker = start_broker()
    heard = subscribe(broker.port)
    source = ["playing"]
    parsed = parse_broker(f"mqtt://127.0.0.1:{broker.port}/kitchen")
    with Stream(MqttReceiver(parsed, "m", lambda: source[0])) as stream:
        stream.write(made.frame(made.reading()))
        made.wait_until(lambda: heard.of("kitchen/state"), "the state")
        source[0] = "lost"
        made.wait_until(
            lambda: json.loads(heard.of("kitchen/state")[-1])["source"] == "lost", "the news"
        )
    last = json.loads(heard.of("kitchen/state")[-1])
    assert (last["faces"], last["expression"]) == (0, None)


def test_a_password_comes_from_a_file_and_a_wrong_one_is_an_error_at_once(
    start_broker: Any, connect: Make, made: Any, tmp_path: Path
) -> None:
    if shutil.which("mosquitto_passwd") is None:
        pytest.skip("mosquitto_passwd is not installed")
    users = tmp_path / "users"
    subprocess.run(["mosquitto_passwd", "-b", "-c", users, "ada", "open sesame"], check=True)
    broker = start_broker("allow_anonymous false", f"password_file {users}")
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text("open sesame\n")
    with closing(connect(broker.port, secret, user="ada@")) as receiver:
        assert receiver.connected
        receiver.send(Outgoing.of(made.frame()))
    secret.write_text("wrong words\n")
    with pytest.raises(RankotomError, match=r"refuses us: .*--mqtt-password-file") as refused:
        connect(broker.port, secret, user="ada@")
    assert "wrong words" not in str(refused.value)


def test_tls_is_checked_against_the_certificate_that_is_named(
    start_broker: Any, connect: Make, tmp_path: Path
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    made_by = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run(
        [*made_by, "-keyout", key, "-out", certificate, *subject], check=True, capture_output=True
    )
    broker = start_broker("allow_anonymous true", f"certfile {certificate}", f"keyfile {key}")
    with closing(connect(broker.port, None, certificate, scheme="mqtts")) as receiver:
        assert receiver.connected
    with pytest.raises(RankotomError, match=r"not who it says: self.signed certificate"):
        connect(broker.port, scheme="mqtts")


def test_nothing_is_sent_after_the_end(start_broker: Any, connect: Make, made: Any) -> None:
    receiver = connect(start_broker().port)
    receiver.close()
    with pytest.raises(NotSentError):
        receiver.send(Outgoing.of(made.frame()))
