"""Update the tables in the documents from the cards of the embedded models, and from Table 1.

    python docs/tables.py

A table stands between ``<!-- NAME -->`` and ``<!-- end -->`` and is replaced as a whole.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from calib.files import replace_file
from calib.reports import table1
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.embedded import FP32, INT8, INT8_S8S8

DOCS = Path(__file__).parent
DOCUMENTS = (
    DOCS.parent / "README.md",
    *(DOCS / name for name in ("results.md", "model-card.md", "export.md")),
)
TABLE = re.compile(r"(<!-- (?P<name>[a-z0-9 ]+) -->\n)(?:.*?\n)??(<!-- end -->)", re.DOTALL)
METRICS = {
    "accuracy": "accuracy",
    "mean_recall": "mean recall",
    "ece": "ECE",
    "aece": "AECE",
    "mce50": "MCE, bins of 50 or more",
    "nll": "NLL",
    "top2_match": "blend match",
}
QUESTIONS = {
    "accuracy": "How often is the expression right? (accuracy)",
    "ece": "How far is the confidence off, on average? (ECE, expected calibration error)",
    "top2_match": "Where people saw a blend: how often does it see the same two? (blend match)",
}
DIGITS = {"ece": 2, "aece": 2}


def number(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "nll" else f"{100 * value:.{DIGITS.get(name, 1)}f}"


def value_text(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return number(name, value) + ("" if name == "nll" else " %")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)


def headline_table(*models: Artifact) -> str:
    """For readers who do not know the names yet."""
    metrics = [model.card.evaluation.metrics for model in models]
    floors = [each["ece"].floor for each in metrics]
    rows = [
        [question, *(value_text(name, each[name].value) for each in metrics)]
        for name, question in QUESTIONS.items()
    ]
    by_chance = [value_text("ece", None if floor is None else floor.mean) for floor in floors]
    rows.insert(
        2, ["… and how far would a perfect confidence be off, by chance? (floor)", *by_chance]
    )
    faces = " and ".join(sorted({f"{model.card.evaluation.n:,}" for model in models}))
    rows.append(["How large is the file?", *(f"{model.bytes / 1e6:.1f} MB" for model in models)])
    return markdown([f"on {faces} faces", *(f"`{model.card.name}`" for model in models)], rows)


def metrics_table(artifact: Artifact) -> str:
    rows = []
    for name, title in METRICS.items():
        estimate = artifact.card.evaluation.metrics[name]
        interval, floor = estimate.interval, estimate.floor
        span = f"{number(name, interval.low)} to {number(name, interval.high)}" if interval else ""
        chance = f"mean {number(name, floor.mean)}, p95 {number(name, floor.p95)}" if floor else ""
        rows.append([title, value_text(name, estimate.value), span, chance])
    return markdown(
        ["", "measured", "95 % interval", "floor: a perfectly calibrated model, by chance"], rows
    )


def expressions_table(artifact: Artifact) -> str:
    rows = [
        [emotion.name, str(emotion.count)]
        + [
            value_text("accuracy", share)
            for share in (emotion.accuracy, emotion.confidence, emotion.precision)
        ]
        for emotion in sorted(artifact.card.evaluation.per_class, key=lambda each: each.name)
    ]
    return markdown(["expression", "faces", "recall", "mean confidence", "precision"], rows)


def confusion_table(artifact: Artifact) -> str:
    evaluation = artifact.card.evaluation
    rows = [
        [name, *(f"{100 * count / max(sum(counts), 1):.0f}" for count in counts)]
        for name, counts in zip(evaluation.classes, evaluation.confusion, strict=True)
    ]
    return markdown(["", *evaluation.classes], rows)


def quantized_table(parent: Artifact, *quantized: Artifact) -> str:
    models = (parent, *quantized)
    rows = [
        [METRICS[name], *(value_text(name, m.card.evaluation.metrics[name].value) for m in models)]
        for name in ("accuracy", "ece", "aece", "nll")
    ]
    flips = [value_text("flips", model.card.quantization["change"]["flips"]) for model in quantized]
    rows.append(["faces whose expression changed", "", *flips])
    rows.append(["file", *(f"{model.bytes / 1e6:.1f} MB" for model in models)])
    rows.append(["made for", *(", ".join(model.card.targets) or "any" for model in models)])
    return markdown(["", *(f"`{model.card.name}`" for model in models)], rows)


def make_tables() -> Mapping[str, str]:
    fp32, *quantized = (load_artifact(name) for name in (FP32, INT8, INT8_S8S8))
    return {
        "headline": headline_table(fp32, quantized[0]),
        "metrics": metrics_table(fp32),
        "expressions": expressions_table(fp32),
        "confusion": confusion_table(fp32),
        "quantized": quantized_table(fp32, *quantized),
        **{
            f"table1 {start}": table1.markdown(table1.Table1.read(DOCS / f"table1-{start}.json"))
            for start in table1.STARTS
        },
    }


def update_tables(text: str) -> str:
    tables = make_tables()
    return TABLE.sub(lambda found: f"{found[1]}{tables[found['name']]}\n{found[3]}", text)


def main() -> None:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        with replace_file(document) as temporary:
            temporary.write_text(update_tables(text), encoding="utf-8")
        print(document)


if __name__ == "__main__":
    main()
