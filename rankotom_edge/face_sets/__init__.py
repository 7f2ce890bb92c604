"""The user's own faces, without labels: from a folder of photos, or from a recorded session."""
