"""The parts of the overlay: letters, strokes, panels, insets, and the sheet they lie on."""
