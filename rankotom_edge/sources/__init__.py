"""Where pictures come from: a camera, a file, a stream or the demo, all read alike."""

from rankotom_edge.sources.cameras import Camera, list_cameras
from rankotom_edge.sources.open_source import open_source
from rankotom_edge.sources.source import Source, State

__all__ = ["Camera", "Source", "State", "list_cameras", "open_source"]
