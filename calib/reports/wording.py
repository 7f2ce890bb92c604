"""What the figures come to, in a sentence."""

from calib.drift import Drift, check_limits
from calib.evaluation import Evaluation
from calib.limits import Limits, Verdict
from calib.reports.widgets import NAMES, percent

# Under half a point between what is said and what is right, over- and under-confidence cancel out.
MIXED = 0.005
# Of the reference's time: less than this is worth a word, and more than a busy machine's noise.
FASTER = 0.95


def model_name(evaluation: Evaluation) -> str:
    return str(evaluation.model.get("name") or evaluation.model.get("file") or "predictions")


def calibration_verdict(evaluation: Evaluation) -> tuple[bool, str]:
    """Whether chance alone explains the ECE, and that in a sentence or two.

    The ECE alone decides: of two figures, each held against its own 1 in 20, one would be beyond
    chance more often than that. The AECE has its own mark in its own row.
    """
    figure = evaluation.metrics["ece"]
    value = percent(figure.value, 2)
    ceiling = percent(figure.floor.p95 if figure.floor else None, 2)
    samples = f"in only 1 of 20 samples of {evaluation.faces}"
    if figure.consistent is not False:
        return True, (
            f"Consistent with perfect calibration: its ECE is {value}, and a perfectly calibrated "
            f"model shows more than {ceiling} {samples}."
        )
    said, right = mean_confidence(evaluation), evaluation.metrics["accuracy"].value or 0.0
    attitude = "Too sure of itself" if said > right else "Not sure enough"
    if abs(said - right) < MIXED:
        attitude = "Too sure in places, not sure enough in others"
    return False, (
        f"{attitude}: it says {percent(said)} on average and is right {percent(right)} of the "
        f"time. Its ECE is {value}; chance shows more than {ceiling} {samples}."
    )


def mean_confidence(evaluation: Evaluation) -> float:
    return sum(bin_.count * (bin_.confidence or 0.0) for bin_ in evaluation.reliability) / (
        evaluation.n
    )


def drift_headline(drift: Drift, limits: Limits, verdict: Verdict) -> str:
    """Yes or no, what it is worth, and which limits more faces might decide otherwise.

    A verdict may hold more against a candidate than the limits do: its size, or its speed.
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
    return f"{answer}, but chance might decide {_listed(doubtful)}"


def gains(drift: Drift) -> str:
    """``, 26 % of the size and 1.8 times as fast``, as far as that is known and so."""
    gained = []
    if drift.size_ratio is not None and drift.size_ratio < 1:
        gained.append(f"{percent(drift.size_ratio, 0)} of the size")
    if drift.latency_ratio is not None and drift.latency_ratio < FASTER:
        gained.append(f"{1 / drift.latency_ratio:.1f} times as fast")
    return f", {_listed(gained)}" if gained else ""


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
