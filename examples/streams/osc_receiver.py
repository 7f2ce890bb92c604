"""Prints face 1 of what a camera sends with ``--osc``, once for every frame.

python examples/streams/osc_receiver.py 9000
"""

import sys

from pythonosc.dispatcher import Dispatcher
from pythonosc.osc_server import BlockingOSCUDPServer


def main(port: str = "9000") -> None:
    face = {}

    def hear(address, *values):
        name = address.rpartition("/")[2]
        face[name] = values[0]
        if name == "contempt":  # the last message of a face
            print(f"{face['expression']} {face['confidence']:.2f}", flush=True)

    dispatcher = Dispatcher()
    dispatcher.map("/rankotom/face/1/*", hear)
    BlockingOSCUDPServer(("127.0.0.1", int(port)), dispatcher).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
