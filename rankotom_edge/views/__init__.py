"""Where a moment is shown: a window, a terminal, lines, or nowhere."""
