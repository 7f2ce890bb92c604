"""Sessions on disk: recorded, replayed, and read again by another model."""
