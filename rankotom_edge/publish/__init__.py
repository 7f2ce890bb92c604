"""Readings for other programs: JSON lines, Prometheus, and streams over a network."""
