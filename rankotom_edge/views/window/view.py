"""The live view in a window of its own, through OpenCV."""

import ctypes
import ctypes.util
import os
import sys

import cv2
import numpy as np

from rankotom_edge.closing import Closing
from rankotom_edge.frame import Image
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.views.display import Display
from rankotom_edge.views.window.overlay import Overlay, size_within

# At most, chosen by eye: readable across a table, small enough for a laptop's screen.
OPENING_SIZE = (1280, 720)
KEY_NAMES = {27: "esc", 32: "space"}
# Qt paints only while OpenCV waits for keys. With 1 ms it stays black on a busy machine. By eye.
KEY_WAIT_MS = 10


def key_name(code: int) -> str | None:
    """From OpenCV's key code; None unless it is a letter, a digit, space or Esc.

    The low byte alone is not enough: that of the left arrow (0xff51) is "q".
    """
    symbol = code & 0xFFFF  # without GTK's bits for Num Lock and the like
    if symbol in KEY_NAMES:
        return KEY_NAMES[symbol]
    character = chr(symbol).lower()
    return character if character.isascii() and character.isalnum() else None


def screen_available() -> bool:
    """Whether a window can be opened, found by connecting to the X server.

    OpenCV would end the process, without an exception, if it could not connect.
    """
    # OpenCV 4.8, as in JetPack 6, lacks this function; its build has windows.
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
    """Draws the overlay at the window's size, so that its text is sharp."""

    interactive = True
    shows_faces = True

    def __init__(self, title: str, model: MeasuredModel) -> None:
        self._title = title
        self._overlay = Overlay(model)
        self._window: Window | None = None
        self._knows_frame_size = False

    @property
    def closed(self) -> bool:
        return self._window is not None and self._window.closed

    def show(self, display: Display) -> None:
        if self._window is None:
            self._window = Window(self._title, size_within(OPENING_SIZE, display))
        elif display.latest is not None and not self._knows_frame_size:
            self._window.resize(size_within(OPENING_SIZE, display))
        self._knows_frame_size = display.latest is not None
        if not self._window.closed:
            self._window.show(self._overlay.draw(display, self._window.size))

    def key(self) -> str | None:
        return None if self._window is None else self._window.key()

    def close(self) -> None:
        if self._window is not None:
            self._window.close()


class Window(Closing):
    """One OpenCV window: images in, key names out. Only for the main thread."""

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        self.title = title
        self.closed = False
        self._size = size
        self._shown = False
        # Images are drawn at the window's size, so OpenCV need not keep their ratio. With
        # WINDOW_KEEPRATIO, Qt would report a size without the borders of the previous image.
        cv2.namedWindow(title, cv2.WINDOW_NORMAL | cv2.WINDOW_FREERATIO | cv2.WINDOW_GUI_NORMAL)
        cv2.resizeWindow(title, *size)

    @property
    def size(self) -> tuple[int, int]:
        """The width and height available for an image."""
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
            # Qt would drop whole rows and columns, and strokes of digits with them.
            smaller = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
            image = np.asarray(smaller, np.uint8)
        cv2.imshow(self.title, image)
        self._shown = True

    def key(self, wait_ms: int = KEY_WAIT_MS) -> str | None:
        """None if no key was pressed, or one without a name here."""
        code = cv2.waitKeyEx(wait_ms)
        self._still_open()
        return None if code < 0 else key_name(code)

    def close(self) -> None:
        if self._still_open():
            cv2.destroyWindow(self.title)
            cv2.waitKey(1)
        self.closed = True

    def _still_open(self) -> bool:
        """Checked before every image, because ``imshow`` would open a closed window again."""
        if self._shown and not self.closed:
            try:
                self.closed = cv2.getWindowProperty(self.title, cv2.WND_PROP_VISIBLE) < 1
            except cv2.error:  # from Qt, if that was the last window
                self.closed = True
        return not self.closed
