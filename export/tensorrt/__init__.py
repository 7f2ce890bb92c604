"""TensorRT: the rules for a graph, and the engine that is built on the device."""
