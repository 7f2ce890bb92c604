"""The Python API: readings of pictures and sources for other programs, as plain typed values."""

from calib.errors import RankotomError
from rankotom_edge.api.reader import Reader
from rankotom_edge.api.values import FaceReading, FrameReading, table

__all__ = ["FaceReading", "FrameReading", "RankotomError", "Reader", "table"]
