"""Archives: many videos into a table each, and a summary over all."""
