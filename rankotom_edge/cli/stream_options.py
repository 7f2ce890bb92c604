"""``camera --lsl``, ``--mqtt`` and ``--osc``: readings for other programs, as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.option_groups import given_options

if TYPE_CHECKING:
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.publish.broker import Broker
    from rankotom_edge.publish.stream import Receiver, Stream
    from rankotom_edge.readings.drift_monitor import DriftMonitor
    from rankotom_edge.sources import Source

STREAMS = "Streams to other programs"


@dataclass(frozen=True)
class StreamOptions:
    lsl: Annotated[
        bool,
        typer.Option(
            "--lsl",
            help="Readings and markers for Lab Streaming Layer, for everybody on this network.",
            rich_help_panel=STREAMS,
        ),
    ] = False
    mqtt: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=(
                r"To a broker: [bold]mqtt\[s]://\[user@]host\[:port]\[/topic][/]; Home Assistant "
                "finds it by itself."
            ),
            rich_help_panel=STREAMS,
        ),
    ] = None
    mqtt_password_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The broker's password, in a file that only you can read.",
            rich_help_panel=STREAMS,
        ),
    ] = None
    mqtt_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For mqtts:// and a certificate of your own: who signed it.",
            rich_help_panel=STREAMS,
        ),
    ] = None
    osc: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="OSC messages over UDP, for programs of artists and musicians.",
            rich_help_panel=STREAMS,
        ),
    ] = None

    def check(self) -> None:
        """Bad options and missing packages show before a camera is opened."""
        if self.mqtt is None:
            for name in (each for each in given_options(self) if each.startswith("--mqtt-")):
                raise typer.BadParameter(f"{name} is for --mqtt")
        self._broker()
        self._osc_address()
        with extra("streams"):
            if self.lsl:
                import pylsl  # noqa: F401
            if self.mqtt is not None:
                import paho.mqtt.client  # noqa: F401
            if self.osc is not None:
                import pythonosc.osc_bundle  # noqa: F401

    @contextmanager
    def open(
        self, model: MeasuredModel, source: Source, monitor: DriftMonitor
    ) -> Iterator[list[Stream]]:
        if not given_options(self):
            yield []
            return
        from rankotom_edge.publish.stream import Stream

        with ExitStack() as stack:
            yield [
                stack.enter_context(Stream(receiver, lambda: monitor.drift))
                for receiver in self._receivers(model, source)
            ]

    def _receivers(self, model: MeasuredModel, source: Source) -> Iterator[Receiver]:
        broker, address = self._broker(), self._osc_address()
        if self.lsl:
            from rankotom_edge.publish.lsl import LslReceiver

            yield LslReceiver(model.labels, source.name)
        if broker is not None:
            from rankotom_edge.publish.mqtt import MqttReceiver

            receiver = MqttReceiver(broker, model.name, lambda: source.state.kind)
            if receiver.problem is not None:
                print(
                    f"note: cannot reach the MQTT broker {broker.name} ({receiver.problem}); it is "
                    "tried again and again",
                    file=sys.stderr,
                )
            yield receiver
        if address is not None:
            from rankotom_edge.publish.osc import OscReceiver

            yield OscReceiver(*address)

    def _broker(self) -> Broker | None:
        from rankotom_edge.publish.broker import parse_broker

        if self.mqtt is None:
            return None
        return parse_broker(self.mqtt, self.mqtt_password_file, self.mqtt_ca)

    def _osc_address(self) -> tuple[str, int] | None:
        if self.osc is None:
            return None
        host, _, port = self.osc.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise typer.BadParameter("--osc takes HOST:PORT, as in 127.0.0.1:9000")
        return host.removeprefix("[").removesuffix("]"), int(port)
