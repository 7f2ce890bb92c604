"""``python -m rankotom_edge.bench``, as ``make bench`` and ``make soak`` call it."""

import subprocess
import sys

import pytest

from rankotom_edge.bench import __main__ as bench


def test_the_limits_are_printed_with_what_was_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "first_reading", lambda: 1.0)
    for name, value in (("MAX_RATIO", 1e6), ("MIN_FPS", 0), ("MAX_P95_MS", 1e6)):
        monkeypatch.setattr(bench, name, value)
    bench.check_limits(20)
    page = capsys.readouterr().out
    assert "20 frames of 640x480, one face" in page
    assert "first reading, best of 3              1.00 s" in page


def test_over_a_limit_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "first_reading", lambda: 1.0)
    monkeypatch.setattr(bench, "MIN_FPS", 1_000_000)
    with pytest.raises(SystemExit, match="over a limit"):
        bench.check_limits(20)


def test_the_first_reading_of_the_demo_is_timed() -> None:
    assert 0 < bench.first_reading() < 60


def test_soak_runs_from_the_command_line() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge.bench", "--soak", "3"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 1
    assert "3 frames are too few" in finished.stderr
