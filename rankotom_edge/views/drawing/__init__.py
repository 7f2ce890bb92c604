"""What the window and the web page's picture are both drawn with."""
