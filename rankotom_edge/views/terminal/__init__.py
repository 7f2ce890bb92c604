"""The live view in a terminal, also over SSH."""
