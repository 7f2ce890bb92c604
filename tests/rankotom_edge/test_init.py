"""``import rankotom_edge``: quick, typed, and without what the live path must not load."""

import subprocess
import sys
from pathlib import Path

import pytest

import rankotom_edge

ROOT = Path(__file__).parents[2]


def loaded(script: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\nimport sys; print('LOADED', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in done.stdout.rpartition("LOADED")[2].split()}


def test_the_package_itself_loads_nothing_heavy() -> None:
    assert not loaded("import rankotom_edge") & {"numpy", "cv2", "onnxruntime", "mediapipe"}


def test_the_reader_loads_neither_torch_nor_a_window_nor_pandas() -> None:
    names = loaded("from rankotom_edge import Reader\nReader().close()")
    assert "onnxruntime" in names
    assert not names & {"torch", "onnx", "pandas", "pyarrow", "matplotlib", "typer", "tkinter"}


def test_every_public_name_is_there() -> None:
    for name in rankotom_edge.__all__:
        assert getattr(rankotom_edge, name)
    assert set(rankotom_edge.__all__) <= set(dir(rankotom_edge))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rankotom_edge.nothing


def test_a_type_checker_knows_the_public_names(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "from rankotom_edge import Reader, table\n"
        "with Reader() as reader:\n"
        "    reveal_type(reader.read('a.jpg').faces[0].probabilities)\n"
        "    reveal_type(table(reader.frames(0)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Revealed type is "dict[str, float]"' in done.stdout, done.stdout
    assert 'Revealed type is "dict[str, list[object]]"' in done.stdout
    assert "Success" in done.stdout


@pytest.mark.parametrize("package", ["calib", "export", "rankotom_edge", "train"])
def test_every_package_has_types(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()
