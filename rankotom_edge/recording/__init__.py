"""Sessions on disk: recorded, read back and replayed."""
