"""From the name of a source (camera, file, stream, folder of images, demo) to its frames."""

from rankotom_edge.sources.cameras import Camera, list_cameras
from rankotom_edge.sources.open_source import open_source
from rankotom_edge.sources.source import Source, State

__all__ = ["Camera", "Source", "State", "list_cameras", "open_source"]
