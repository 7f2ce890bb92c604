"""From a frame to faces: detected, tracked, rated by their quality, and cropped."""
