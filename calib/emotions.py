"""The emotions, in the one order that all packages share."""

# FERPlus order. RAF-DB has the first seven; AffectNet has all eight.
EMOTIONS = ("neutral", "happiness", "surprise", "sadness", "anger", "disgust", "fear", "contempt")
