from __future__ import annotations

from rankotom_edge.doctor.check import Check, is_healthy


def test_only_needed_checks_decide() -> None:
    fine = Check("demo", True, "", None, 1.0, "needed")
    absent = Check("screen", False, "", "plug one in", 1.0, "optional")
    broken = Check("models", False, "", "reinstall", 1.0, "needed")
    assert is_healthy([fine, absent])
    assert not is_healthy([fine, broken])


def test_a_check_is_written_with_its_time_rounded() -> None:
    check = Check("screen", False, "none", "plug one in", 12.3456, "optional")
    assert check.as_json() == {
        "name": "screen",
        "ok": False,
        "detail": "none",
        "fix": "plug one in",
        "ms": 12.3,
        "level": "optional",
    }
