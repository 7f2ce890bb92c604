"""The names of the embedded models, and which of them is the default on this machine."""

from rankotom_edge.model.target import this_machine

FP32 = "ferplus-fp32"
INT8 = "ferplus-int8"  # for CPUs, x86 and ARM
INT8_S8S8 = "ferplus-int8-s8s8"  # for TensorRT

DEFAULT = FP32 if this_machine() is None else INT8
