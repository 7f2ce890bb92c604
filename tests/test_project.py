"""What a stranger finds: an install that resolves, commands that exist, pictures that are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("extra", ["", "train", "web", "dev"])
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


def test_the_readme_links_to_files_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"(?:\]\(|src=\")([^)\"#]+)", text)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_readme_shows_only_commands_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page = subprocess.run(
        [sys.executable, "-m", "rankotom_edge.cli", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    ).stdout
    used = set(re.findall(r"^rankotom-edge (\w+)", text, flags=re.MULTILINE))
    assert used
    assert {command for command in used if f"│ {command} " not in page} == set()


@pytest.mark.parametrize("target", ["demo", "test", "lint", "bench", "pictures"])
def test_make_has_the_target(target: str) -> None:
    finished = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


def test_the_schema_names_every_field_of_the_json() -> None:
    import numpy as np

    from calib.drift import judge, measure_drift
    from calib.predictions import Predictions

    schema = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    read = Predictions(np.full((4, 2), 0.5), np.array([0, 1, 0, 1]))
    drift = measure_drift(read, read, resamples=10)
    figures = drift.as_json(judge(drift))
    evaluation, per_class = drift.reference.as_json(), drift.per_class[0].as_json()
    fields = {*figures, *evaluation, *per_class, "compounds"}
    assert {field for field in fields if f"`{field}`" not in schema} == set()
