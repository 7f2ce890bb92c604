"""Shows readings to a person: in a window, a terminal, a browser, or not at all."""
