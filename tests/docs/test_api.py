"""The Python on docs/api.md and in the README runs as it stands there."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import pytest

from rankotom_edge.sources.demo import demo_picture, load_portrait

ROOT = Path(__file__).parents[2]
SIZE = (320, 240)
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
BLOCKS = {
    f"{name} {number}": block
    for name in ("README.md", "docs/api.md")
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)
    )
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the documents name."""
    folder = tmp_path_factory.mktemp("desk")
    portrait = load_portrait()
    cv2.imwrite(str(folder / "photo.jpg"), portrait)
    clip = folder / "party.mp4"
    writer = cv2.VideoWriter(str(clip), cv2.VideoWriter.fourcc(*"mp4v"), 30, SIZE)
    for number in range(45):
        writer.write(demo_picture(portrait, number / 30, SIZE))
    writer.release()
    for copy in ("archive/day 1/a.mp4", "more/b.mp4"):
        (folder / copy).parent.mkdir(parents=True)
        shutil.copy(clip, folder / copy)
    return folder


@pytest.mark.parametrize("block", BLOCKS)
def test_the_code_runs_and_says_something(block: str, desk: Path) -> None:
    code = BLOCKS[block]
    if "pandas" in code:
        pytest.importorskip("pandas", reason="pandas is not installed")
    if "read_parquet" in code:
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        (command,) = re.findall(r"^rankotom-edge (analyze .* --output .*)$", API, re.M)
        program = [sys.executable, "-m", "rankotom_edge", *shlex.split(command)]
        subprocess.run(program, cwd=desk, check=True)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=desk, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_readme_opens_a_reader_in_five_lines() -> None:
    block = next(block for name, block in BLOCKS.items() if name.startswith("README"))
    assert len([line for line in block.splitlines() if line.strip()]) == 5


def test_the_page_names_every_attribute_and_column() -> None:
    from dataclasses import fields

    from rankotom_edge import FaceReading, FrameReading
    from rankotom_edge.api.values import COLUMNS

    public = API.partition("## What a reading has")[2].partition("\n## ")[0]
    names = {each.name for kind in (FaceReading, FrameReading) for each in fields(kind)}
    assert {name for name in names if f"`{name}`" not in public} == set()
    tables = API.partition("## Tables")[2].partition("\n## ")[0]
    assert {name for name in COLUMNS if f"`{name}`" not in tables} == set()


def test_the_page_names_everything_public() -> None:
    import rankotom_edge
    from rankotom_edge import Reader

    internal = {"artifact", "follow"}  # for rankotom-edge's own commands
    own = {name for name in vars(Reader) if not name.startswith("_")} - internal
    options = set(inspect.signature(Reader).parameters)
    names = {*rankotom_edge.__all__, *own, *options}
    assert {name for name in names if not re.search(rf"\b{name}\b", API)} == set()
