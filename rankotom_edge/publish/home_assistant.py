"""What Home Assistant is told, so that the entities appear by themselves: MQTT device discovery."""

from __future__ import annotations

from rankotom_edge import __version__
from rankotom_edge.publish.broker import Broker

PREFIX = "homeassistant"  # Home Assistant's own default
NO_FACE = "no face"

# The fields are those of ``mqtt_state``.
ENTITIES: dict[str, dict[str, str]] = {
    "expression": {
        "platform": "sensor",
        "name": "Expression",
        "icon": "mdi:emoticon-outline",
        "value_template": f"{{{{ value_json.expression or '{NO_FACE}' }}}}",
    },
    "confidence": {
        "platform": "sensor",
        "name": "Confidence",
        "icon": "mdi:gauge",
        "unit_of_measurement": "%",
        "state_class": "measurement",
        "value_template": (
            "{{ 'None' if value_json.confidence is none "
            "else (value_json.confidence * 100) | round(0) }}"
        ),
    },
    "faces": {
        "platform": "sensor",
        "name": "Faces",
        "icon": "mdi:account-multiple",
        "state_class": "measurement",
        "value_template": "{{ value_json.faces }}",
    },
    "unsure": {
        "platform": "binary_sensor",
        "name": "Unsure",
        "icon": "mdi:help-circle-outline",
        "value_template": "{{ 'ON' if value_json.verdict == 'unsure' else 'OFF' }}",
    },
    "drift": {
        "platform": "binary_sensor",
        "name": "Drift",
        "device_class": "problem",
        "value_template": "{{ 'ON' if value_json.drift == 'drifted' else 'OFF' }}",
    },
}


def discovery_topic(broker: Broker) -> str:
    return f"{PREFIX}/device/{broker.device}/config"


def discovery(broker: Broker, model: str) -> dict[str, object]:
    return {
        "device": {
            "identifiers": [broker.device],
            "name": broker.topic,
            "manufacturer": "rankotom-edge",
            "model": model,
            "sw_version": __version__,
        },
        "origin": {"name": "rankotom-edge", "sw_version": __version__},
        "components": {
            name: {**entity, "unique_id": f"{broker.device}-{name}"}
            for name, entity in ENTITIES.items()
        },
        "state_topic": f"{broker.topic}/state",
        "availability_topic": f"{broker.topic}/availability",
    }
