"""The source distribution holds what it takes to build a wheel and to test it, and the Dockerfiles
copy what they install."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCKERFILES = ("Dockerfile", "Dockerfile.jetson")
BUILD = "import sys; from setuptools import build_meta as build; build.build_{}(sys.argv[1])"
# Of what an unpacked distribution must pass; quick ones that read other files of it.
SOME_TESTS = (
    "tests/calib/test_intervals.py",
    "tests/rankotom_edge/model/test_card.py",
    "tests/test_jetson.py",
)


def build(kind: str, folder: Path, output: Path) -> Path:
    pytest.importorskip("setuptools", minversion="77", reason="setuptools is not installed")
    command = [sys.executable, "-c", BUILD.format(kind), str(output)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = output.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, elsewhere."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    (root,) = (path for path in folder.iterdir() if path.is_dir())
    return root


def test_it_builds_a_wheel_with_every_module_model_and_page(unpacked: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", unpacked, tmp_path)) as wheel:
        names = set(wheel.namelist())
    for package in ("calib", "export", "rankotom_edge", "train"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(ROOT)) in names
    assert not {name for name in names if name.startswith(("tests", "docs"))}


def test_its_tests_run_where_it_was_unpacked(unpacked: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *SOME_TESTS],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_it_has_the_tests_and_no_data(unpacked: Path) -> None:
    with tarfile.open(unpacked.parent / f"{unpacked.name}.tar.gz") as archive:
        sizes = {member.name.partition("/")[2]: member.size for member in archive}
    files = set(sizes)
    ours = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")}
    assert ours <= files
    assert {"Makefile", "constraints.txt", "slim.txt", "docs/examples/fp32.npz"} <= files
    assert sum(sizes.values()) < 40e6


def test_the_description_has_no_link_to_a_file_that_is_not_with_it() -> None:
    page = (ROOT / "docs" / "package.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert all(link.startswith("https://") for link in links)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_container_copies_what_is_there_and_lets_through(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists()
            assert f"!{source}" in allowed


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_container_has_the_libraries_and_no_root(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for package in re.findall(r"lib\w+\.so\.\d+=(\S+)|libglib-2\.0\.so\.0=(\S+)", makefile):
        assert f" {''.join(package)} " in text.replace("\n", " ")
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE) == ["1000"]
    assert "Never built" in text


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_containers_groups_are_those_of_a_bare_image_or_made_before(name: str) -> None:
    """Ubuntu's images have no group render: it comes with udev."""
    before, _, after = (ROOT / name).read_text(encoding="utf-8").partition("useradd ")
    (groups,) = re.findall(r"--groups (\S+)", after)
    made = re.findall(r"groupadd .*?(\w+) \\$", before, re.MULTILINE)
    assert set(groups.split(",")) <= {"video", *made}
