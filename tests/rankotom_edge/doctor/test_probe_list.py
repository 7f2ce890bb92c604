from __future__ import annotations

import importlib

from rankotom_edge.doctor.probe_list import PROBES, list_probes


def test_every_probe_names_a_function_that_exists() -> None:
    for probe in (probe for group in list_probes("demo").values() for probe in group):
        module, _, name = probe.function.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
    assert "Your source" not in PROBES


def test_a_source_of_the_users_own_is_needed_and_comes_first() -> None:
    title, probes = next(iter(list_probes("csi://0").items()))
    assert title == "Your source"
    assert [(probe.argument, probe.level) for probe in probes] == [("csi://0", "needed")]
    assert list_probes(None) == PROBES
