"""The embedded models: data, and which of them is used unless another is asked for."""

from rankotom_edge.model.machine import this_machine

FP32 = "ferplus-fp32"
INT8 = "ferplus-int8"  # for x86
INT8_S8S8 = "ferplus-int8-s8s8"  # for TensorRT and ARM

# On ARM nobody has measured yet whether INT8 is worth it.
DEFAULT = INT8 if this_machine() == "x86" else FP32
