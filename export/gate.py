"""The gate: whether a smaller model is worth it, and which layers to blame where it is not."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from calib.drift import Verdict
from export.judges import Harm
from export.latency import Latencies

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
    """Each layer quantized alone, the most harmful first: by NLL, the steadier of the two figures,
    and by ECE where that is the same."""
    everything = frozenset(layers)
    alone = [LayerHarm(layer, harm_of(everything - {layer})) for layer in layers]
    return tuple(sorted(alone, key=lambda each: (-each.harm.nll, -(each.harm.ece or 0.0))))


def restorations(ranked: Sequence[str], allows: Callable[[Kept], bool]) -> Iterator[Kept]:
    """Sets of layers to restore that ``allows`` finds good enough, each larger than the last.

    The guilty are restored in their order until that suffices; then each that was not needed after
    all, the least guilty first, is quantized again. Whoever asks for another set found this one
    too small: it stays, and more are added to it.
    """
    refused: Kept = frozenset()
    restored: Kept = frozenset()
    for place, layer in enumerate(ranked[: int(len(ranked) * MOST_RESTORED)]):
        restored |= {layer}
        if not allows(restored):
            continue
        for added in reversed(ranked[: place + 1]):
            fewer = restored - {added}
            if added in restored - refused and fewer > refused and allows(fewer):
                restored = fewer
        yield restored
        refused = restored
