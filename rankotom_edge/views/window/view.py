"""The live view in a window of its own, through OpenCV."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from typing import TYPE_CHECKING

import cv2
import numpy as np

from rankotom_edge.closing import Closing
from rankotom_edge.views.window.overlay import Overlay, size_within

if TYPE_CHECKING:
    from rankotom_edge.frame import Image
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.views.display import Display

# A window as it opens: large enough to read across a table, small enough for a laptop's screen.
OPENING = (1280, 720)
KEY_NAMES = {27: "esc", 32: "space"}
# Qt paints only while it is waited for keys, and last of all: on a machine that is short of time
# the window stayed black with 1 ms.
KEY_WAIT_MS = 10


def key_name(code: int) -> str | None:
    """The name of a key, by OpenCV's code; None where it is no letter, digit, space or Esc.

    The low byte alone would not do: it makes "q" of a left arrow (0xff51).
    """
    symbol = code & 0xFFFF  # without GTK's bits for Num Lock and its like
    if symbol in KEY_NAMES:
        return KEY_NAMES[symbol]
    character = chr(symbol).lower()
    return character if character.isascii() and character.isalnum() else None


def screen_available() -> bool:
    """Whether a window can be opened, found by connecting as the window system would.

    OpenCV ends the process, without an exception, when it can't.
    """
    # 4.8, as JetPack 6 has it, does not tell; its build has a window.
    if hasattr(cv2, "currentUIFramework") and not cv2.currentUIFramework():
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    if not os.environ.get("DISPLAY"):
        return False
    found = ctypes.util.find_library("xcb") or "libxcb.so.1"
    try:
        xcb = ctypes.CDLL(found)
    except OSError:
        return False
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    xcb.xcb_connection_has_error.argtypes = (ctypes.c_void_p,)
    xcb.xcb_disconnect.argtypes = (ctypes.c_void_p,)
    connection = xcb.xcb_connect(None, None)
    connected = bool(xcb.xcb_connection_has_error(connection) == 0)
    xcb.xcb_disconnect(connection)
    return connected


class WindowView(Closing):
    """The overlay in a window, drawn for the window's size so that its letters are crisp."""

    interactive = True
    shows_faces = True

    def __init__(self, title: str, model: MeasuredModel) -> None:
        self._title = title
        self._overlay = Overlay(model)
        self._window: Window | None = None
        self._knows_the_frame = False

    @property
    def closed(self) -> bool:
        return self._window is not None and self._window.closed

    def show(self, display: Display) -> None:
        if self._window is None:
            self._window = Window(self._title, size_within(OPENING, display))
        elif display.latest is not None and not self._knows_the_frame:
            self._window.resize(size_within(OPENING, display))
        self._knows_the_frame = display.latest is not None
        if not self._window.closed:
            self._window.show(self._overlay.draw(display, self._window.size))

    def key(self) -> str | None:
        return None if self._window is None else self._window.key()

    def close(self) -> None:
        if self._window is not None:
            self._window.close()


class Window(Closing):
    """One window: pictures in, key names out. For the main thread alone, as OpenCV's are."""

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        self.title = title
        self.closed = False
        self._size = size
        self._shown = False
        # Pictures are drawn for the size there is, so nothing is left to keep the ratio of; with
        # WINDOW_KEEPRATIO Qt would tell the size less the borders of the picture before.
        cv2.namedWindow(title, cv2.WINDOW_NORMAL | cv2.WINDOW_FREERATIO | cv2.WINDOW_GUI_NORMAL)
        cv2.resizeWindow(title, *size)

    @property
    def size(self) -> tuple[int, int]:
        """The width and height that there are for a picture."""
        if not self._shown or self.closed:
            return self._size
        _, _, width, height = cv2.getWindowImageRect(self.title)
        return (width, height) if width > 0 and height > 0 else self._size

    def resize(self, size: tuple[int, int]) -> None:
        self._size = size
        cv2.resizeWindow(self.title, *size)

    def show(self, image: Image) -> None:
        if not self._still_open():
            return
        width, height = self.size
        if image.shape[1] > width or image.shape[0] > height:
            # Qt would leave out rows and columns, and with them the strokes of digits.
            smaller = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
            image = np.asarray(smaller, np.uint8)
        cv2.imshow(self.title, image)
        self._shown = True

    def key(self, wait_ms: int = KEY_WAIT_MS) -> str | None:
        """The key that was pressed since; None also for keys without a meaning here."""
        code = cv2.waitKeyEx(wait_ms)
        self._still_open()
        return None if code < 0 else key_name(code)

    def close(self) -> None:
        if self._still_open():
            cv2.destroyWindow(self.title)
            cv2.waitKey(1)
        self.closed = True

    def _still_open(self) -> bool:
        """Looked at before each picture: OpenCV would open a closed window again for it."""
        if self._shown and not self.closed:
            try:
                self.closed = cv2.getWindowProperty(self.title, cv2.WND_PROP_VISIBLE) < 1
            except cv2.error:  # Qt's answer when that was the last window
                self.closed = True
        return not self.closed
