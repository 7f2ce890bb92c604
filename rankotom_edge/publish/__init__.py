"""Readings for other programs: JSON lines and Prometheus."""
