"""The ROS 2 node with a stand-in for ROS: it starts a real camera and publishes its lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "streams" / "ros2_node.py"
PATIENCE = 120.0

# The names that the node uses, as ROS 2's documentation has them.
RCLPY = """
import os, sys, time
class Node:
    def __init__(self, name): self.name = name
    def declare_parameter(self, name, default):
        return type("Parameter", (), {"value": os.environ.get(name, default)})
    def create_publisher(self, kind, topic, profile):
        publish = lambda self, message: print(topic, message.data, flush=True)
        return type("Publisher", (), {"publish": publish})()
    def get_logger(self): return type("Logger", (), {"warning": lambda self, text: None})()
    def destroy_node(self): pass
class ExternalShutdownException(Exception): pass
class String:
    def __init__(self, data): self.data = data
qos_profile_sensor_data = None
def init(): pass
def try_shutdown(): print("shut down", flush=True)
def spin(node):
    while True: time.sleep(0.1)
"""


def test_the_node_publishes_every_line_and_ends_its_camera(tmp_path: Path) -> None:
    for module in ("rclpy", "rclpy.executors", "rclpy.node", "rclpy.qos", "std_msgs.msg"):
        file = tmp_path / module.replace(".", "/") / "__init__.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RCLPY if module == "rclpy" else "from rclpy import *\n")
    program = tmp_path / "rankotom-edge"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rankotom_edge "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    settings = {"PYTHONPATH": path, "program": str(program), "source": "demo"}
    with subprocess.Popen(
        [sys.executable, str(EXAMPLE)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
    ) as node:
        try:
            assert node.stdout is not None
            topic, _, line = node.stdout.readline().partition(" ")
            assert topic == "/rankotom/readings"
            assert json.loads(line).keys() >= {"frame", "time", "faces"}
            node.send_signal(signal.SIGINT)
            rest, _ = node.communicate(timeout=PATIENCE)  # until its camera has ended too
            assert rest.endswith("shut down\n")
        finally:
            node.kill()
