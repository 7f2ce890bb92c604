"""The embedded models: data, no code."""
