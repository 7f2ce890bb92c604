"""Results in words: verdicts, headlines and notes."""

from calib.drift import Drift, check_limits
from calib.errors import printable
from calib.evaluation import Evaluation
from calib.limits import Limits, Verdict
from calib.reports.number_text import NAMES, faces_text, percent, points

# Below this difference of mean confidence and accuracy, over- and under-confidence cancel out.
# Chosen by eye.
MIXED = 0.005
# A candidate is called faster below this share of the reference's time: a busy machine's noise is
# smaller. Chosen by eye.
FASTER = 0.95


def model_name(evaluation: Evaluation) -> str:
    """A file's name may hold what is no text, and matplotlib draws nothing of that."""
    named = evaluation.model.get("name") or evaluation.model.get("file") or "predictions"
    return printable(str(named))


def calibration_verdict(evaluation: Evaluation) -> tuple[bool, str]:
    """Whether chance alone explains the ECE, and a sentence or two that say so.

    Only the ECE decides: with two metrics, each compared with its own p95, one of them would be
    beyond chance more often than 1 time in 20. The AECE has its own mark in its own row.
    """
    estimate = evaluation.metrics["ece"]
    value = percent(estimate.value, 2)
    p95 = percent(estimate.floor.p95 if estimate.floor else None, 2)
    samples = f"in only 1 of 20 samples of {faces_text(evaluation.n)}"
    if estimate.consistent is not False:
        return True, (
            f"Consistent with perfect calibration: its ECE is {value}, and a perfectly calibrated "
            f"model shows more than {p95} {samples}."
        )
    confidence, right = mean_confidence(evaluation), evaluation.metrics["accuracy"].value or 0.0
    attitude = "Too sure of itself" if confidence > right else "Not sure enough"
    if abs(confidence - right) < MIXED:
        attitude = "Too sure in places, not sure enough in others"
    return False, (
        f"{attitude}: it says {percent(confidence)} on average and is right {percent(right)} of "
        f"the time. Its ECE is {value}; chance shows more than {p95} {samples}."
    )


def mean_confidence(evaluation: Evaluation) -> float:
    return sum(bin_.count * (bin_.confidence or 0.0) for bin_ in evaluation.reliability) / (
        evaluation.n
    )


def drift_headline(drift: Drift, limits: Limits, verdict: Verdict) -> str:
    """Yes or no, what is gained, and the limits that chance might decide.

    A verdict may fail a candidate within every limit: for its size, or its speed.
    """
    checks = check_limits(drift, limits)
    failed = [check for check in checks if check.failed]
    doubtful = [NAMES[check.name][0] for check in failed or checks if check.unsure]
    if failed:
        answer = "No: past the limit"
    elif verdict.passed:
        answer = f"Yes: within every limit{gains(drift)}"
    else:
        answer = "No: within every limit, and not worth it"
    if not doubtful or (failed and len(doubtful) < len(failed)):
        return answer
    return f"{answer}, but chance might decide {_join_words(doubtful)}"


def gains(drift: Drift) -> str:
    """For example ``, 26 % of the size and 1.8 times as fast``; empty where nothing is gained."""
    gained = []
    if drift.size_ratio is not None and drift.size_ratio < 1:
        gained.append(f"{percent(drift.size_ratio, 0)} of the size")
    if drift.latency_ratio is not None and drift.latency_ratio < FASTER:
        gained.append(f"{1 / drift.latency_ratio:.1f} times as fast")
    return f", {_join_words(gained)}" if gained else ""


def drift_notes(drift: Drift) -> list[tuple[str, str]]:
    """Name and sentence of each note: what changed on the faces, then what is known of the
    models."""
    flips, shift = drift.flips, drift.confidence_shift
    sideways = max(0.0, flips.rate - flips.broken - flips.mended)
    changes = [
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
    return [*changes, *model_notes(drift)]


def model_notes(drift: Drift) -> list[tuple[str, str]]:
    """Temperature, size, latency and the layers in FP32, where known."""
    known = [
        ("temperature", _pair(drift.reference.temperature, drift.candidate.temperature)),
        ("size", _size(drift)),
        ("latency", _latency(drift)),
        ("in FP32", ", ".join(map(str, _layers_in_fp32(drift)))),
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


def _layers_in_fp32(drift: Drift) -> tuple[object, ...]:
    layers = drift.candidate.model.get("layers_in_fp32", ())
    return tuple(layers) if isinstance(layers, (list, tuple)) else ()


def _join_words(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
