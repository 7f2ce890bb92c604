"""What a stranger finds: an install that resolves, commands that exist, pictures that are there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def name_of(requirement: str) -> str:
    return re.split(r"[<>=;\[ ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def pinned() -> set[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {name_of(line) for line in lines if line and not line.startswith("#")}


@pytest.mark.parametrize("extra", ["", "train", "web", "streams", "dev"])
def test_every_direct_dependency_is_pinned(extra: str) -> None:
    project = PROJECT["project"]
    wanted = project["optional-dependencies"][extra] if extra else project["dependencies"]
    assert {name_of(requirement) for requirement in wanted} <= pinned()


def test_the_live_app_installs_without_torch() -> None:
    names = {name_of(requirement) for requirement in PROJECT["project"]["dependencies"]}
    assert "torch" not in names
    assert len({name for name in names if name.startswith("opencv")}) == 1


def test_every_package_of_ours_is_installed() -> None:
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for top in ("calib", "export", "rankotom_edge", "train")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_no_file_of_ours_is_too_long_to_read() -> None:
    long = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for top in ("calib", "export", "rankotom_edge", "train")
        for path in (ROOT / top).rglob("*.py")
    }
    assert {path: lines for path, lines in long.items() if lines > 450} == {}


def test_the_documents_show_only_commands_that_exist() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(document.read_text(encoding="utf-8") for document in documents)
    page = subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli.app", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    ).stdout
    shown = "".join(re.findall(r"^```sh\n.*?^```", text, flags=re.DOTALL | re.MULTILINE))
    used = set(re.findall(r"^(?:\.venv/bin/)?rankotom-edge (\w+)", shown, flags=re.MULTILINE))
    assert used
    assert {command for command in used if f"│ {command} " not in page} == set()


@pytest.mark.parametrize("target", ["demo", "test", "lint", "bench", "pictures"])
def test_make_has_the_target(target: str) -> None:
    finished = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


def test_the_demo_shows_the_portrait_first_and_then_what_else_to_try() -> None:
    """Without a screen, a network or data; what it names exists."""
    planned = subprocess.run(
        ["make", "--dry-run", "--assume-old=.venv/.installed-core", "demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = re.findall(r"rankotom-edge (\w+)", planned)
    assert used[0] == "camera"
    assert "rankotom-edge camera --source demo --seconds 20" in planned
    assert planned.index("--source demo") < planned.index("Try next")
    shown = subprocess.run(
        [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo", "--frames", "30"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={name: value for name, value in os.environ.items() if name != "DISPLAY"},
    )
    assert "happiness" in shown.stdout
    assert {"camera", "calibrate", "models", "doctor"} == set(used)


def schema_of(command: str) -> str:
    schema = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    _, _, rest = schema.partition(f"\n## `{command}`\n")
    return rest.partition("\n## ")[0]


def description(field: str, section: str) -> str:
    """The row of the table that names the field first, and the paragraph that begins with it."""
    lines = section.splitlines()
    rows = [line for line in lines if f"`{field}`" in line.removeprefix("| ").split(" | ")[0]]
    return "\n".join(
        [
            *(line for line in rows if line.startswith("|")),
            *(line for line in lines if line.startswith(f"`{field}`")),
        ]
    )


def undocumented(document: dict[str, Any], section: str) -> set[str]:
    """The fields, and those inside them, that the schema does not name where it should."""
    missing = set()
    for field, value in document.items():
        text = description(field, section)
        if not text:
            missing.add(field)
        missing |= {
            f"{field}.{name}"
            for name in fields_inside(field, value)
            if f"`{name}`" not in text and f'"{name}"' not in text
        }
    return missing


def fields_inside(field: str, value: Any) -> set[str]:
    """Of a list the first record's, of what is kept by class or by figure the first one's."""
    from calib.evaluation import METRICS

    if field in ("per_class", "floor"):
        value = next(iter(value.values()))
    if isinstance(value, list) and value:
        value = value[0]
    by_figure = METRICS if field in ("change", "intervals", "consistent") else ()
    return set(value) - set(by_figure) if isinstance(value, dict) else set()


def test_the_schema_names_every_field_under_its_own_command() -> None:
    import numpy as np

    from calib.blends import compound_heatmap
    from calib.drift import judge, measure_drift
    from calib.predictions import Predictions

    votes = np.tile([[5, 5]], (4, 1))
    read = Predictions(np.full((4, 2), 0.5), np.array([0, 1, 0, 1]), votes=votes)
    drift = measure_drift(read, read, resamples=10)
    compounds = compound_heatmap(read.probabilities, votes, read.classes).as_json()
    evaluation = {**drift.reference.as_json(), "compounds": compounds}
    assert undocumented(evaluation, schema_of("evaluate")) == set()
    comparison = drift.as_json(judge(drift))
    del comparison["reference"], comparison["candidate"]
    assert undocumented(comparison, schema_of("drift")) == set()


def test_a_field_that_only_another_command_has_is_undocumented() -> None:
    assert undocumented({"bins": []}, schema_of("drift")) == {"bins"}
    assert undocumented({"flips": {"rate": 0, "mean": 0}}, schema_of("drift")) == {"flips.mean"}
