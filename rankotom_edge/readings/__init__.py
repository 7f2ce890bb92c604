"""From probabilities to what is said of a face: an expression, a blend, or unsure."""
