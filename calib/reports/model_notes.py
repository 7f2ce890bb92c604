"""What is to be said of two models beside their figures, in words: name and sentence."""

from calib.drift import Drift
from calib.reports.widgets import percent, points


def facts(drift: Drift) -> list[tuple[str, str]]:
    """What changed on a face, then what is known of the models."""
    flips, shift = drift.flips, drift.confidence_shift
    sideways = max(0.0, flips.rate - flips.broken - flips.mended)
    told = [
        (
            "emotion",
            f"changed on {percent(flips.rate)}: {percent(flips.broken)} right to wrong, "
            f"{percent(flips.mended)} wrong to right, {percent(sideways)} wrong to wrong",
        ),
        (
            "confidence",
            f"{points(shift.mean)} points on average, {100 * shift.mean_absolute:.1f} either way; "
            f"at worst {points(shift.worst)}, face {shift.worst_face}",
        ),
    ]
    return [*told, *model_facts(drift)]


def model_facts(drift: Drift) -> list[tuple[str, str]]:
    """Temperature, size, latency and layers, as far as they are known."""
    known = [
        ("temperature", _pair(drift.reference.temperature, drift.candidate.temperature)),
        ("size", _size(drift)),
        ("latency", _latency(drift)),
        ("in FP32", ", ".join(map(str, _restored(drift)))),
    ]
    return [(name, words) for name, words in known if words]


def _pair(before: float | None, after: float | None) -> str:
    known = [f"{value:.3f}" if value is not None else "unknown" for value in (before, after)]
    return "" if before is None and after is None else " → ".join(known)


def _size(drift: Drift) -> str:
    if drift.size_ratio is None:
        return ""
    known = [each.model.get("bytes") for each in (drift.reference, drift.candidate)]
    sizes = [f"{size / 1e6:.1f} MB" for size in known if isinstance(size, int)]
    share = percent(drift.size_ratio, 0)
    return f"{' → '.join(sizes)}, {share}" if len(sizes) == 2 else f"{share} of the reference's"


def _latency(drift: Drift) -> str:
    if drift.latency_ms is None or drift.latency_ratio is None:
        return ""
    before, after = drift.latency_ms
    faster = drift.latency_ratio <= 1
    times = 1 / drift.latency_ratio if faster else drift.latency_ratio
    return (
        f"{before:.1f} ms → {after:.1f} ms a face, {times:.1f} times as "
        f"{'fast' if faster else 'slow'}"
    )


def _restored(drift: Drift) -> tuple[object, ...]:
    """The layers that stayed in FP32, where the candidate says."""
    layers = drift.candidate.model.get("layers_in_fp32", ())
    return tuple(layers) if isinstance(layers, (list, tuple)) else ()
