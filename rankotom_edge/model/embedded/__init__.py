"""The names of the embedded models, and which of them is the default on this machine."""

from rankotom_edge.model.target import this_machine

FP32 = "ferplus-fp32"
INT8 = "ferplus-int8"  # for x86
INT8_S8S8 = "ferplus-int8-s8s8"  # for TensorRT and ARM

# On ARM it has not been measured yet whether INT8 is faster.
DEFAULT = INT8 if this_machine() == "x86" else FP32
