"""The guide for a Jetson and its service, as far as they can be checked without one."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankotom_edge.cli.app import app

DOCS = Path(__file__).parent.parent / "docs"
UNIT = DOCS / "rankotom-edge.service"
GUIDE = (DOCS / "jetson.md").read_text(encoding="utf-8")


def command() -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    return shlex.split(line)


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    # It looks for the program too, which is here somewhere else.
    here = UNIT.read_text(encoding="utf-8").replace(command()[0], sys.executable)
    (tmp_path / UNIT.name).write_text(here, encoding="utf-8")
    finished = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / UNIT.name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert UNIT.name not in finished.stdout + finished.stderr


def test_the_unit_starts_a_command_that_exists() -> None:
    _, name, *options = command()
    page = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, [name, "--help"]).stdout
    for option in (option for option in options if option.startswith("--")):
        assert f"{option} " in page


def test_the_guide_installs_what_the_unit_starts() -> None:
    program = command()[0]
    assert program in GUIDE
    assert f"venv --system-site-packages {program.removesuffix('/bin/rankotom-edge')} " in GUIDE


def test_the_guide_names_the_versions_that_are_pinned() -> None:
    pinned = (DOCS.parent / "constraints.txt").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| ONNX Runtime \|(.+)$", GUIDE, re.MULTILINE)
    for version in re.findall(r"^onnxruntime==(\S+)", pinned, re.MULTILINE):
        assert version in row
    assert "MediaPipe 0.10.14" in GUIDE
    assert "mediapipe==0.10.14" in pinned


def test_the_guide_and_the_readme_name_every_library_of_the_makefile() -> None:
    makefile = (DOCS.parent / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^LIBRARIES := ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    wanted = {pair.partition("=")[2] for pair in listed.replace("\\", "").split()}
    assert len(wanted) > 5
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for text in (GUIDE, readme):
        (installed,) = re.findall(r"apt-get install ([^`\n]*libgl1[^`\n]*)", text)
        assert set(installed.split()) - {"python3-venv"} == wanted


def test_the_guide_says_that_it_was_not_run() -> None:
    assert "Not run on real hardware" in GUIDE.splitlines()[2]
