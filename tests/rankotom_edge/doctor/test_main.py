"""A probe's own process: ``python -m rankotom_edge.doctor``."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankotom_edge.doctor.check import Check, Probe
from rankotom_edge.doctor.subprocess_probe import run_probe


def test_what_libraries_print_is_not_taken_for_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(
        "import os\nfrom rankotom_edge.doctor import Finding\n"
        "def check(argument):\n"
        "    os.write(1, b'noise')\n"
        "    return Finding(True, 'all is well')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    check = run_probe(Probe("loud", "loud:check"), 60.0)
    assert isinstance(check, Check)
    assert check.detail == "all is well"
