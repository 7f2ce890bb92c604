"""The live view in a browser: one page, its streams, and who may see them."""
