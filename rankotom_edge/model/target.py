"""Which kind of machine a quantized model is for, and what is done on another.

The same bytes are not the same numbers everywhere: ONNX Runtime's integer kernels on an x86 CPU
without VNNI add two products in 16 bits, and the symmetric graph that ARM and TensorRT want
overflows there. On another machine than its own a model is therefore run in exact arithmetic, which
is slower than FP32, but keeps what its bars mean.
"""

import platform

from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.machine import Target, this_machine
from rankotom_edge.model.onnx_runtime import Provider


def target_of(provider: Provider) -> Target | None:
    """What runs the graph: a GPU by TensorRT's rules, or this CPU."""
    return this_machine() if provider == "cpu" else "tensorrt"


def at_home(card: ModelCard, provider: Provider = "cpu") -> bool:
    return not card.targets or target_of(provider) in card.targets


def needs_exact_arithmetic(card: ModelCard, provider: Provider = "cpu") -> bool:
    """Floats of other widths are the same everywhere; bytes are not."""
    return card.precision == "int8" and not at_home(card, provider)


def target_warning(card: ModelCard, provider: Provider = "cpu") -> str | None:
    if at_home(card, provider):
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
