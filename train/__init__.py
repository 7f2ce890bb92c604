"""Rank-O-ToM training: the paper, and the recipes of the embedded model."""
