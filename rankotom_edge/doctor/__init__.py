"""What this machine can do: every probe runs for real, in a process of its own, and is timed."""

from rankotom_edge.doctor.check import Check, Finding, Probe, is_healthy
from rankotom_edge.doctor.subprocess_probe import run_probes

__all__ = ["Check", "Finding", "Probe", "is_healthy", "run_probes"]
