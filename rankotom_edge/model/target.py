"""Which machines a quantized model is made for, and what happens on another.

The same INT8 weights do not give the same numbers everywhere. ONNX Runtime's integer kernels on an
x86 CPU without VNNI add two products in 16 bits, and the symmetric graph that TensorRT needs
overflows there; on ARM they round otherwise, which moves its logits by 0.1 (``make arm64`` prints
how much). On another machine than its own a model therefore runs in exact arithmetic, which is
slower than FP32 but keeps its calibration. One INT8 file is for x86 and ARM, whose kernels agree on
it.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:  # the command line asks for the target before it loads anything
    from rankotom_edge.model.card import ModelCard
    from rankotom_edge.model.onnx_runtime import Provider

Target = Literal["x86", "arm", "tensorrt"]
TARGETS: tuple[Target, ...] = get_args(Target)
MACHINES: dict[str, Target] = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}


def this_machine() -> Target | None:
    """The kind of its CPU; None where it is neither x86 nor ARM."""
    return MACHINES.get(platform.machine().lower())


def target_of(provider: Provider) -> Target | None:
    """This CPU, or a GPU, for which TensorRT's rules hold."""
    return this_machine() if provider == "cpu" else "tensorrt"


def is_made_for(card: ModelCard, provider: Provider = "cpu") -> bool:
    return not card.targets or target_of(provider) in card.targets


def needs_exact_arithmetic(card: ModelCard, provider: Provider = "cpu") -> bool:
    """Only integers differ between machines; FP32 and FP16 do not."""
    return card.precision == "int8" and not is_made_for(card, provider)


def target_warning(card: ModelCard, provider: Provider = "cpu") -> str | None:
    if is_made_for(card, provider):
        return None
    target = target_of(provider)
    here = "a GPU" if target == "tensorrt" else target or platform.machine()
    made = f"{card.name} was made for {' and '.join(card.targets)}, and this is {here}"
    if not needs_exact_arithmetic(card, provider):
        return f"{made}: {card.precision} gains nothing here, use its FP32 parent."
    return (
        f"{made}: it runs in exact arithmetic, slower than its FP32 parent. Make one for here "
        f"with: rankotom-edge export --int8 --target {target or 'NAME'}"
    )
