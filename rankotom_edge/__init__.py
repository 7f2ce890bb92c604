"""Faces from a camera, the expression each one shows, and how sure that is; offline.

The Python API (docs/api.md) is what ``__all__`` names. It is imported when it is first used, so
that the command line starts quickly.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calib.errors import RankotomError as RankotomError
    from rankotom_edge.api import FaceReading as FaceReading
    from rankotom_edge.api import FrameReading as FrameReading
    from rankotom_edge.api import Reader as Reader
    from rankotom_edge.api import table as table

__version__ = "0.1.0"

__all__ = ["FaceReading", "FrameReading", "RankotomError", "Reader", "__version__", "table"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rankotom_edge import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
