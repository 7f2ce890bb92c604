"""What this machine can do: each line tried for real, in a process of its own, and timed."""

from rankotom_edge.doctor.check import Check, Finding, Trial, healthy
from rankotom_edge.doctor.subprocess_check import examine

__all__ = ["Check", "Finding", "Trial", "examine", "healthy"]
