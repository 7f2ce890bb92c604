"""Drawing that the window and the web page's picture share."""
