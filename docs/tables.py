"""Write the documents' tables anew, from what the embedded models say of themselves.

python docs/tables.py

A table stands between ``<!-- NAME -->`` and ``<!-- end -->``; what is between them is replaced.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from calib.files import replace_file
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.embedded import FP32, INT8, INT8_S8S8

DOCS = Path(__file__).parent
DOCUMENTS = (DOCS.parent / "README.md", DOCS / "results.md", DOCS / "model-card.md")
MARKED = re.compile(r"(<!-- (?P<name>[a-z ]+) -->\n)(?:.*?\n)??(<!-- end -->)", re.DOTALL)
FIGURES = {
    "accuracy": "accuracy",
    "ece": "ECE",
    "aece": "AECE",
    "mce50": "MCE, bins of 50 or more",
    "nll": "NLL",
    "top2_match": "blend match",
}
DIGITS = {"ece": 2, "aece": 2}


def number(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "nll" else f"{100 * value:.{DIGITS.get(name, 1)}f}"


def shown(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return number(name, value) + ("" if name == "nll" else " %")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)


def figures(artifact: Artifact) -> str:
    rows = []
    for name, words in FIGURES.items():
        metric = artifact.card.evaluation.metrics[name]
        interval, floor = metric.interval, metric.floor
        chance = (
            f"{number(name, floor.mean)} on average, {number(name, floor.p95)} in 1 of 20"
            if floor
            else ""
        )
        span = f"{number(name, interval.low)} to {number(name, interval.high)}" if interval else ""
        rows.append([words, shown(name, metric.value), span, chance])
    return table(
        ["", "measured", "95 % interval", "floor: a perfectly calibrated model by chance"], rows
    )


def expressions(artifact: Artifact) -> str:
    rows = [
        [emotion.name, str(emotion.count)]
        + [
            shown("accuracy", share)
            for share in (emotion.accuracy, emotion.confidence, emotion.precision)
        ]
        for emotion in sorted(artifact.card.evaluation.per_class, key=lambda one: one.name)
    ]
    return table(["expression", "faces", "found", "says", "is right"], rows)


def confusion(artifact: Artifact) -> str:
    evaluation = artifact.card.evaluation
    rows = [
        [name, *(f"{100 * count / max(sum(counts), 1):.0f}" for count in counts)]
        for name, counts in zip(evaluation.classes, evaluation.confusion, strict=True)
    ]
    return table(["", *evaluation.classes], rows)


def smaller(parent: Artifact, *models: Artifact) -> str:
    """The quantized models beside their parent, each on the judging faces."""
    everyone = (parent, *models)
    rows = [
        [words, *(shown(name, each.card.evaluation.metrics[name].value) for each in everyone)]
        for name, words in FIGURES.items()
        if name in ("accuracy", "ece", "aece", "nll")
    ]
    flips = [shown("flips", each.card.quantization["change"]["flips"]) for each in models]
    rows.append(["faces whose expression changed", "", *flips])
    rows.append(["file", *(f"{each.bytes / 1e6:.1f} MB" for each in everyone)])
    rows.append(["made for", *(", ".join(each.card.targets) or "any" for each in everyone)])
    return table(["", *(f"`{each.card.name}`" for each in everyone)], rows)


def tables() -> Mapping[str, Callable[[], str]]:
    fp32: Any = load_artifact(FP32)
    quantized = [load_artifact(name) for name in (INT8, INT8_S8S8)]
    return {
        "figures": lambda: figures(fp32),
        "expressions": lambda: expressions(fp32),
        "confusion": lambda: confusion(fp32),
        "smaller": lambda: smaller(fp32, *quantized),
    }


def renewed(text: str) -> str:
    known = tables()
    return MARKED.sub(lambda found: f"{found[1]}{known[found['name']]()}\n{found[3]}", text)


def main() -> None:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        with replace_file(document) as temporary:
            temporary.write_text(renewed(text), encoding="utf-8")
        print(document)


if __name__ == "__main__":
    main()
