"""The words that every room shares: the emotions, in one order that never changes."""

# FERPlus order. RAF-DB has the first seven; AffectNet has all eight.
EMOTIONS = (
    "neutral",
    "happiness",
    "surprise",
    "sadness",
    "anger",
    "disgust",
    "fear",
    "contempt",
)
