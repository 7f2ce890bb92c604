"""Home Assistant does not run here; its templates are Jinja2's, and are rendered for real."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rankotom_edge.publish.broker import parse_broker
from rankotom_edge.publish.home_assistant import ENTITIES, discovery, discovery_topic
from rankotom_edge.publish.mqtt_state import mqtt_state
from rankotom_edge.publish.stream import Outgoing

jinja2 = pytest.importorskip("jinja2", reason="jinja2 is not installed")
BROKER = parse_broker("mqtt://home.lan/house/kitchen")


def shown(outgoing: Outgoing | None) -> dict[str, str]:
    """What each entity shows of a state, after its way through JSON."""
    state = json.loads(json.dumps(mqtt_state(outgoing, "playing", "m")))
    return {
        name: jinja2.Template(entity["value_template"]).render(value_json=state)
        for name, entity in ENTITIES.items()
    }


def test_every_entity_shows_its_part_of_the_state(made: Any) -> None:
    face = Outgoing.of(made.frame(made.reading(confidence=0.83)), made.drift("light is low"))
    assert shown(face) == {
        "expression": "happiness",
        "confidence": "83.0",
        "faces": "1",
        "unsure": "OFF",
        "drift": "ON",
    }
    unsure = shown(Outgoing.of(made.frame(made.reading(verdict="unsure"))))
    assert (unsure["expression"], unsure["unsure"], unsure["drift"]) == ("unsure", "ON", "OFF")


def test_without_a_face_the_confidence_is_unknown() -> None:
    assert shown(None) == {
        "expression": "no face",
        "confidence": "None",
        "faces": "0",
        "unsure": "OFF",
        "drift": "OFF",
    }


def test_the_entities_are_of_one_device_and_have_ids_of_their_own() -> None:
    document: Any = discovery(BROKER, "ferplus-int8")
    assert discovery_topic(BROKER) == "homeassistant/device/house-kitchen/config"
    assert document["device"]["identifiers"] == ["house-kitchen"]
    ids = [each["unique_id"] for each in document["components"].values()]
    assert len(set(ids)) == len(ENTITIES)
    assert {each["platform"] for each in document["components"].values()} == {
        "sensor",
        "binary_sensor",
    }
    assert document["state_topic"] == "house/kitchen/state"
    assert document["availability_topic"] == "house/kitchen/availability"
