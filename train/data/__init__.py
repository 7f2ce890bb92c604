"""The data sets in their official layouts, and their faces in the crop contract's framing."""
