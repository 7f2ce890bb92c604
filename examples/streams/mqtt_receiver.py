"""Prints what a camera sends with ``--mqtt``: its state about once a second, until it is offline.

python examples/streams/mqtt_receiver.py 127.0.0.1 1883 kitchen
"""

import json
import sys

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion


def main(host: str = "127.0.0.1", port: str = "1883", topic: str = "kitchen") -> None:
    def on_connect(client, *_):
        client.subscribe([(f"{topic}/state", 0), (f"{topic}/availability", 0)])

    def on_message(client, _, message):
        if message.topic.endswith("/availability"):
            print(message.payload.decode(), flush=True)
            if message.payload == b"offline" and not message.retain:
                client.disconnect()
            return
        state = json.loads(message.payload)
        if state["faces"]:
            print(f"{state['expression']}, {state['top']} {state['confidence']:.0%}", flush=True)

    client = Client(CallbackAPIVersion.VERSION2)
    client.on_connect, client.on_message = on_connect, on_message
    client.connect(host, int(port))
    client.loop_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
