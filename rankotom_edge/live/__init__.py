"""The loop: frame -> faces -> readings -> views."""
