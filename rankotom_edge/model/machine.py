"""What kind of machine this is, as far as a quantized model cares; loads nothing."""

import platform
from typing import Literal, get_args

Target = Literal["x86", "arm", "tensorrt"]
TARGETS: tuple[Target, ...] = get_args(Target)
MACHINES: dict[str, Target] = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}


def this_machine() -> Target | None:
    """Its CPU; None where it is neither of the two."""
    return MACHINES.get(platform.machine().lower())
