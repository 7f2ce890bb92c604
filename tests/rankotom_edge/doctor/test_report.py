from __future__ import annotations

from io import StringIO

from rich.console import Console

from rankotom_edge.doctor.check import Check
from rankotom_edge.doctor.report import doctor_report, duration

DEMO = Check("demo", True, "reads happiness", None, 1234.0, "needed")
MODELS = Check("models", False, "no file", "git checkout -- models", 5.0, "needed")
SCREEN = Check("screen", False, "none", "use the terminal", 7.0, "optional")
SOURCE = Check("source", False, "no image", "check that it is on", 9.0, "needed")


def printed(*checks: Check) -> str:
    console = Console(file=StringIO(), width=80)
    console.print(doctor_report("Linux 6.1", {"Reading faces": checks}))
    text = console.file
    assert isinstance(text, StringIO)
    return text.getvalue()


def test_a_machine_that_lacks_only_optional_things_reads_faces() -> None:
    report = printed(DEMO, SCREEN)
    assert "✓ This machine reads faces" in report
    assert "not available, and not needed: screen" in report
    assert "→ use the terminal" in report
    assert "1.2 s" in report


def test_the_verdict_names_the_cause_and_not_the_demo_that_fails_with_it() -> None:
    broken = Check("demo", False, "no model", "reinstall", 1.0, "needed")
    report = printed(broken, MODELS)
    assert "✗ This machine cannot read faces yet" in report
    verdict = report.split("Reading faces")[0]
    assert "models: git checkout -- models" in verdict
    assert "demo" not in verdict


def test_only_a_broken_source_is_not_blamed_on_the_machine() -> None:
    assert "✗ This machine reads faces, but not from that source" in printed(DEMO, SOURCE)


def test_durations_are_in_the_unit_that_suits_them() -> None:
    assert [duration(ms) for ms in (3.4, 999.4, 1500.0)] == ["3 ms", "999 ms", "1.5 s"]
