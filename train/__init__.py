"""The paper: Rank-O-ToM training, and the model that the product ships."""
