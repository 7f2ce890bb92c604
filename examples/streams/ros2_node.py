"""A ROS 2 node that publishes every frame's readings on /rankotom/readings, and drives nothing.

It starts ``rankotom-edge camera`` and reads its JSON lines, so rankotom-edge may live in an
environment of its own: name its program with the parameter ``program``. The message is JSON in a
std_msgs/String, as docs/schema.md has it: it needs no package of message types to be built.

    python3 examples/streams/ros2_node.py --ros-args -p source:=/dev/video0

Written against ROS 2's documentation for Humble and later. It was not run with ROS.
"""

import signal
import subprocess
import threading

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import String


class ExpressionNode(Node):
    def __init__(self):
        super().__init__("rankotom_edge")
        program = self.declare_parameter("program", "rankotom-edge").value
        source = self.declare_parameter("source", "0").value
        # Best effort, the newest few: as ROS has it for sensors.
        self._publisher = self.create_publisher(
            String, "/rankotom/readings", qos_profile_sensor_data
        )
        name = ["--device", source] if source.isdecimal() else ["--source", source]
        self._camera = subprocess.Popen(
            [program, "camera", *name, "--view", "none", "--json", "-"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def _publish(self):
        for line in self._camera.stdout:
            self._publisher.publish(String(data=line.rstrip("\n")))
        self.get_logger().warning("rankotom-edge has ended")

    def destroy_node(self):
        self._camera.send_signal(signal.SIGINT)
        self._camera.wait(10)
        self._thread.join(5)
        super().destroy_node()


def main():
    rclpy.init()
    node = ExpressionNode()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
