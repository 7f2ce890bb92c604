"""What is missing comes with the command that installs it."""

import subprocess
import sys

import pytest

from rankotom_edge import system_libraries
from rankotom_edge.system_libraries import explain_import


def test_all_missing_libraries_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"libGL.so.1"}
    monkeypatch.setattr(system_libraries, "_loads", lambda name: name in present)
    words = explain_import(
        ImportError("libxcb.so.1: cannot open shared object file: No such file or directory")
    )
    assert words is not None
    assert words.startswith("The system lacks libxcb.so.1, libglib-2.0.so.0")
    assert "sudo apt-get install libxcb1 libglib2.0-0 libsm6 libegl1 libgles2" in words


def test_a_missing_package_is_named_as_pip_knows_it() -> None:
    words = explain_import(ModuleNotFoundError("No module named 'cv2'", name="cv2"))
    assert words is not None
    assert words.endswith("pip install -c constraints.txt opencv-contrib-python")


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'calib.x'", name="calib.x"),
        ImportError("cannot import name 'x' from 'numpy'", name="numpy"),
    ],
)
def test_a_mistake_of_ours_is_not_the_users_to_mend(error: ImportError) -> None:
    assert explain_import(error) is None


@pytest.mark.parametrize(
    ("module", "command"),
    [("cv2", ["camera", "--source", "demo"]), ("matplotlib", ["bench", "--plot", "x.png"])],
)
def test_the_command_line_says_it_in_one_line(module: str, command: list[str]) -> None:
    script = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv[1:] = {command!r}\n"
        "from rankotom_edge.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert done.stderr.startswith("error: The package ")
    assert "pip install" in done.stderr
