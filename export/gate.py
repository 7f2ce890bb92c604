"""The gate: whether a smaller model is worth it, and which layers to blame where it is not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from calib.drift import Verdict
from export.judges import Harm
from rankotom_edge.model.latency import Latencies

# More than this share of the layers in FP32 is no INT8 model any more.
MOST_RESTORED = 1 / 3

# Layers that stay in FP32 while the others are bytes.
Kept = frozenset[str]


@dataclass(frozen=True)
class LayerHarm:
    """The harm of one layer's quantization alone, every other in FP32."""

    layer: str
    harm: Harm

    def as_json(self) -> dict[str, object]:
        return {"layer": self.layer, "nll": self.harm.nll, "ece": self.harm.ece}


def with_worth(
    verdict: Verdict, size_ratio: float, latencies: Latencies, *, judge_latency: bool
) -> Verdict:
    """A smaller model must be smaller, and not slower where that can be told."""
    reasons = list(verdict.reasons)
    if size_ratio >= 1:
        reasons.append(f"It is not smaller: {size_ratio:.0%} of its parent's size.")
    if judge_latency and latencies.ratio > 1:
        reasons.append(
            f"It is slower than its parent: {latencies.candidate:.2f} ms against "
            f"{latencies.reference:.2f} ms a face, in turns on this machine. "
            "--allow-slower accepts that."
        )
    return replace(verdict, passed=not reasons, reasons=tuple(reasons))


def blame(layers: Sequence[str], harm_of: Callable[[Kept], Harm]) -> tuple[LayerHarm, ...]:
    """Each layer quantized alone, the most harmful first: by what it does to NLL and to ECE."""
    everything = frozenset(layers)
    alone = [LayerHarm(layer, harm_of(everything - {layer})) for layer in layers]
    return tuple(sorted(alone, key=lambda each: -each.harm.both))


def fewest_restored(ranked: Sequence[str], passes: Callable[[Kept], bool]) -> Kept | None:
    """The layers to restore for the gate to pass; None where a third of them does not suffice.

    One alone, if that is enough. Else the guilty are restored in their order until it is; then each
    that was not needed for that, the least guilty first, is quantized again.
    """
    suspects = ranked[: most_restored(len(ranked))]
    for layer in suspects:
        if passes(frozenset({layer})):
            return frozenset({layer})
    restored: Kept = frozenset(suspects[:1])
    for layer in suspects[1:]:
        restored |= {layer}
        if passes(restored):
            break
    else:
        return None
    for added in reversed([each for each in ranked if each in restored - {layer}]):
        if passes(restored - {added}):
            restored -= {added}
    return restored


def most_restored(layers: int) -> int:
    return int(layers * MOST_RESTORED)
