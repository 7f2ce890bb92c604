"""What a confidence is worth: calibration measured, compared and reported. Needs only numpy."""
