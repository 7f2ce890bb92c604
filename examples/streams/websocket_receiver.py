"""Prints what a camera sends with ``--view web`` to a WebSocket, once for every frame.

python examples/streams/websocket_receiver.py ws://127.0.0.1:8000/api/readings/socket [TOKEN]
"""

import json
import sys

from websockets.sync.client import connect


def main(address: str = "ws://127.0.0.1:8000/api/readings/socket", token: str = "") -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with connect(address, additional_headers=headers) as socket:
        for message in socket:
            for face in json.loads(message)["faces"]:
                print(f"face {face['track']}: {face['top']} {face['confidence']:.0%}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
