"""Runs the stages: frame -> faces -> readings -> views."""
