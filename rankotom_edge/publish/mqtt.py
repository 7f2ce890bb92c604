"""Readings and state for an MQTT broker, such as a home server's."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from paho.mqtt.client import Client, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from calib.errors import RankotomError
from rankotom_edge.publish.broker import Broker
from rankotom_edge.publish.home_assistant import discovery, discovery_topic
from rankotom_edge.publish.mqtt_state import StateClock, mqtt_state
from rankotom_edge.publish.stream import NotSentError, Outgoing

# Seconds, chosen by eye.
CONNECT = 5.0  # to wait for the broker at the start; afterwards it is tried again in the background
SEND = 1.0  # for a message to leave, before its frame counts as dropped
KEEP_ALIVE = 15  # a broker that says nothing for longer is gone, and so are we for the broker
RETRY = (1, 30)  # between two attempts to connect: at first, and in the end
ONLINE, OFFLINE = "online", "offline"


class MqttReceiver:
    """Everything is sent with QoS 0: a reading that is late is worth nothing, and paho would keep
    the others while the broker is away."""

    name = "mqtt"

    def __init__(self, broker: Broker, model: str, source: Callable[[], str]) -> None:
        """Connects; raises only for what no new attempt would mend. ``source`` is the state of the
        source: "playing"."""
        self._broker, self._model, self._source = broker, model, source
        self._clock = StateClock()
        self._last: Outgoing | None = None
        self._answered, self._refusal = threading.Event(), ""
        self.problem: str | None = None  # why the first attempt failed
        client_id = f"rankotom-edge-{secrets.token_hex(6)}"
        self._client = client = Client(CallbackAPIVersion.VERSION2, client_id)
        client.connect_timeout = CONNECT
        client.reconnect_delay_set(*RETRY)
        client.will_set(f"{broker.topic}/availability", OFFLINE, qos=1, retain=True)
        client.on_connect = self._on_connect
        if broker.user is not None:
            client.username_pw_set(broker.user, broker.password)
        if broker.tls:
            self._use_tls()
        self._connect()

    @property
    def connected(self) -> bool:
        return self._client.is_connected()

    def send(self, outgoing: Outgoing) -> None:
        self._last = outgoing
        self._publish("readings", outgoing.latest.as_json())
        self._send_state(outgoing)

    def idle(self) -> None:
        playing = self._source() == "playing"
        try:
            self._send_state(self._last if playing else None)
        except NotSentError:
            return  # it is due again

    def close(self) -> None:
        """The broker sends the last will only if this fails."""
        with suppress(NotSentError):
            self._publish("availability", OFFLINE, retain=True)
        self._client.disconnect()
        self._client.loop_stop()

    def _connect(self) -> None:
        broker = self._broker
        try:
            self._client.connect(broker.host, broker.port, KEEP_ALIVE)
        except ssl.SSLCertVerificationError as error:
            raise RankotomError(
                f"The MQTT broker {broker.name} is not who it says: {error.verify_message}. "
                "For a certificate of your own: --mqtt-ca FILE"
            ) from None
        except (OSError, UnicodeError) as error:
            self.problem = f"{error}"
            self._client.connect_async(broker.host, broker.port, KEEP_ALIVE)
            self._client.loop_start()
            return
        self._client.loop_start()
        if not self._answered.wait(CONNECT):
            self.problem = "no answer"
        elif self._refusal:
            self._client.disconnect()
            self._client.loop_stop()
            raise RankotomError(
                f"The MQTT broker {broker.name} refuses us: {self._refusal}. "
                f"The user goes into --mqtt, the password into --mqtt-password-file."
            )

    def _use_tls(self) -> None:
        ca_file = self._broker.ca_file
        try:
            self._client.tls_set(None if ca_file is None else str(ca_file))
        except (OSError, ValueError) as error:
            raise RankotomError(f"Cannot use the certificate {ca_file}: {error}.") from None

    def _on_connect(self, client: Client, data: Any, flags: Any, code: ReasonCode, _: Any) -> None:
        """In paho's thread, after every new connection."""
        if code.is_failure:
            self._refusal = str(code)
        else:
            self._clock.forget()
            topic = f"{self._broker.topic}/availability"
            client.publish(topic, ONLINE, retain=True)
            found = json.dumps(discovery(self._broker, self._model))
            client.publish(discovery_topic(self._broker), found, retain=True)
        self._answered.set()

    def _send_state(self, outgoing: Outgoing | None) -> None:
        state = mqtt_state(outgoing, self._source(), self._model)
        now = time.monotonic()
        if self._clock.is_due(state, now):
            self._publish("state", state)
            self._clock.sent(state, now)

    def _publish(self, topic: str, content: object, retain: bool = False) -> None:
        """Returns when the message has left, so that what a stalled broker does not take waits in
        the stream's queue, which is bounded, and not in paho's."""
        if not self._client.is_connected():
            raise NotSentError
        text = content if isinstance(content, str) else _compact(content)
        info = self._client.publish(f"{self._broker.topic}/{topic}", text, retain=retain)
        if not _left(info):
            raise NotSentError


def _left(info: MQTTMessageInfo) -> bool:
    try:
        info.wait_for_publish(SEND)
        return info.is_published()
    except (RuntimeError, ValueError):  # the connection was lost
        return False


def _compact(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)
