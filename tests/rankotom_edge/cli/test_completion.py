"""The Tab key in bash, zsh and fish, in a real terminal; nothing is written without being asked."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WITHOUT_SETTINGS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SET_UP = {
    "bash": 'eval "$(_RANKOTOM_EDGE_COMPLETE=source_bash rankotom-edge)"',
    "zsh": "autoload -Uz compinit; compinit -D; "
    'eval "$(_RANKOTOM_EDGE_COMPLETE=source_zsh rankotom-edge)"',
    "fish": "_RANKOTOM_EDGE_COMPLETE=source_fish rankotom-edge | source",
}
# Completes like the program, and prints its arguments instead of running.
PROGRAM = f"""#!/bin/sh
test -n "$_RANKOTOM_EDGE_COMPLETE" && exec {sys.executable} -m rankotom_edge
echo "arguments: $*."
"""
SECONDS = 300.0  # a busy machine takes its time


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and the program on the PATH."""
    program = tmp_path / "bin" / "rankotom-edge"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(home), "TERM": "xterm", "PS1": "$ "}


class Terminal:
    def __init__(self, number: int) -> None:
        self._number = number

    def type(self, text: str) -> None:
        os.write(self._number, text.encode())

    def wait_for(self, words: str) -> None:
        shown, end = b"", time.monotonic() + SECONDS
        while words.encode() not in shown:
            assert select.select([self._number], [], [], end - time.monotonic())[0], shown
            shown += os.read(self._number, 65536)


@contextmanager
def opened(command: list[str], environment: dict[str, str]) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    at_terminal = ["setsid", "--ctty", *command]
    shell = subprocess.Popen(
        at_terminal, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    try:
        yield Terminal(ours)
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


@pytest.mark.parametrize("shell", WITHOUT_SETTINGS)
def test_tab_completes_commands_options_and_their_values(
    shell: str, environment: dict[str, str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    with opened(WITHOUT_SETTINGS[shell], environment) as terminal:
        terminal.type(f"{SET_UP[shell]}; echo re''ady\r")
        terminal.wait_for("ready")
        terminal.type("rankotom-edge cam\t--vie\tter\t\r")
        terminal.wait_for("arguments: camera --view terminal.")


def test_the_menu_has_a_line_for_each_command(environment: dict[str, str]) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "rankotom-edge ca", "_RANKOTOM_EDGE_COMPLETE": "complete_zsh"}
    done = subprocess.run(
        ["rankotom-edge"], env={**environment, **asked}, capture_output=True, text=True, check=False
    )
    first, second = done.stdout.splitlines()
    assert '"camera":"Read faces live' in first
    assert second.startswith('"calibrate":"Label faces')


def test_nothing_is_written_to_complete(environment: dict[str, str]) -> None:
    asked = {**environment, "COMP_WORDS": "rankotom-edge\ncam", "COMP_CWORD": "1"}
    done = subprocess.run(
        ["rankotom-edge"],
        env={**asked, "_RANKOTOM_EDGE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["camera"]
    assert list(Path(environment["HOME"]).iterdir()) == []


def test_it_is_installed_where_the_shell_looks_when_asked(environment: dict[str, str]) -> None:
    """The shell is the one that starts the program."""
    install = f"{sys.executable} -m rankotom_edge --install-completion; true"
    subprocess.run(["bash", "-c", install], env=environment, check=True, capture_output=True)
    home = Path(environment["HOME"])
    scripts = [path for path in home.rglob("*") if path.suffix == ".sh"]
    assert scripts == [home / ".bash_completions" / "rankotom-edge.sh"]
    assert str(scripts[0]) in (home / ".bashrc").read_text()
