"""The view of a recorded session, whose crops are not on disk: they are cut again when shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankotom_edge.faces.crop import crop

if TYPE_CHECKING:
    from rankotom_edge.model.card import CropContract
    from rankotom_edge.views.display import Display
    from rankotom_edge.views.view import View


class ReplayView:
    """Passes everything on to another view, with crops while the keys ask for them."""

    def __init__(self, view: View, contract: CropContract) -> None:
        self.interactive, self.shows_faces = view.interactive, view.shows_faces
        self._view, self._contract = view, contract

    @property
    def closed(self) -> bool:
        return self._view.closed

    def show(self, display: Display) -> None:
        self._view.show(with_crops(display, self._contract))

    def key(self) -> str | None:
        return self._view.key()


def with_crops(display: Display, contract: CropContract) -> Display:
    """Adds to each reading the face as the network saw it, if ``display`` shows that."""
    latest = display.latest
    if latest is None or not display.controls.crop:
        return display
    image, size, channels = latest.frame.image, contract.size, contract.channels
    readings = tuple(
        replace(reading, crop=crop(image, reading.face, contract.framing, size, channels))
        for reading in latest.readings
    )
    return replace(display, latest=replace(latest, readings=readings))
