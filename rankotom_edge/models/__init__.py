"""The embedded models: data, and the name of the one that is used unless another is asked for."""

DEFAULT = "ferplus-fp32"
