"""From probabilities to readings: an expression, a blend of two, or unsure."""
