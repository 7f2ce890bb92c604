"""From a frame to faces: found, tracked, judged by their quality, and cropped."""
