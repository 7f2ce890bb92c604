"""TensorRT: its rules for a graph, and building an engine on the device."""
