"""What this machine can do: each line tried for real, in a process of its own, and timed."""

from rankotom_edge.doctor.attempt import examine
from rankotom_edge.doctor.check import Check, Finding, Trial, healthy

__all__ = ["Check", "Finding", "Trial", "examine", "healthy"]
