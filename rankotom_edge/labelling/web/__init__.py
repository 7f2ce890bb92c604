"""Labelling in the browser: a page of its own on the server of the live view."""
