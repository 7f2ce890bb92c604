"""From crops to calibrated probabilities: the model file, what runs it, and what its card says."""
