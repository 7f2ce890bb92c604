"""Calibrates a model on the user's own faces: choose faces, ask what they show, fit, keep."""
