"""Faces from a camera, the expression each one shows, and how sure that is; offline."""

__version__ = "0.1.0"
