"""The live view in a window: drawn with OpenCV on the frame."""
