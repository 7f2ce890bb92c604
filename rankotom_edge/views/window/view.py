"""The live view in a window of its own, through OpenCV."""

import ctypes
import ctypes.util
import sys

import cv2
import numpy as np

from rankotom_edge.closing import Closing
from rankotom_edge.frame import Image
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.views.display import Display
from rankotom_edge.views.window.overlay import Overlay

# Chosen by eye.
OF_THE_SCREEN = 0.9
SMALL_SCREEN = 700  # pixels of the shorter side, below which the window opens full screen
SIZE_WITHOUT_SCREEN = (1280, 720)  # where its size cannot be asked: on macOS and Windows
FULL_SCREEN_KEY = "f"
KEY_NAMES = {27: "esc", 32: "space"}
KEY_WAIT_MS = 10  # Qt paints only while OpenCV waits for keys, and with 1 too seldom. By eye
WINDOW_KIND = cv2.WINDOW_NORMAL | cv2.WINDOW_FREERATIO | cv2.WINDOW_GUI_NORMAL


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
    """Whether a window can be opened.

    OpenCV would end the process, without an exception, if it could not connect.
    """
    # OpenCV 4.8, as in JetPack 6, lacks this function; its build has windows.
    if hasattr(cv2, "currentUIFramework") and not cv2.currentUIFramework():
        return False
    return sys.platform in ("darwin", "win32") or screen_size() is not None


def screen_size() -> tuple[int, int] | None:
    """Width and height of the X server's screen, found by connecting to it. None without one."""
    try:
        x11 = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
    except OSError:
        return None
    x11.XOpenDisplay.restype = ctypes.c_void_p
    for ask in (x11.XDisplayWidth, x11.XDisplayHeight):
        ask.argtypes = (ctypes.c_void_p, ctypes.c_int)
    x11.XCloseDisplay.argtypes = (ctypes.c_void_p,)
    display = x11.XOpenDisplay(None)
    if not display:
        return None
    size = x11.XDisplayWidth(display, 0), x11.XDisplayHeight(display, 0)
    x11.XCloseDisplay(display)
    return size


def opening_size(screen: tuple[int, int] | None) -> tuple[int, int]:
    """Leaves room for borders and a panel, or is the screen's, if that is too small for them.
    Screens side by side are one to X, so the window is 16:9 at the widest."""
    if screen is None:
        return SIZE_WITHOUT_SCREEN
    width, height = screen
    if min(width, height) < SMALL_SCREEN:
        return screen
    height = round(OF_THE_SCREEN * height)
    return min(round(OF_THE_SCREEN * width), height * 16 // 9), height


class WindowView(Closing):
    """Draws the overlay at the window's size, so that its text is sharp."""

    interactive = True
    shows_faces = True

    def __init__(self, title: str, model: MeasuredModel) -> None:
        self._title = title
        self._overlay = Overlay(model)
        self._window: Window | None = None

    @property
    def closed(self) -> bool:
        return self._window is not None and self._window.closed

    def show(self, display: Display) -> None:
        if self._window is None:
            screen = screen_size()
            self._window = Window(self._title, opening_size(screen))
            if opening_size(screen) == screen:
                self._window.toggle_full_screen()
        if not self._window.closed:
            self._window.show(self._overlay.draw(display, self._window.size))

    def key(self) -> str | None:
        """``f`` is handled here."""
        key = None if self._window is None else self._window.key()
        if key == FULL_SCREEN_KEY and self._window is not None:
            self._window.toggle_full_screen()
            return None
        return key

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
        cv2.namedWindow(title, WINDOW_KIND)
        # On a busy machine Qt loses events of the window with which it starts, and would never
        # paint it. It loses none of the next one.
        cv2.destroyWindow(title)
        cv2.namedWindow(title, WINDOW_KIND)
        cv2.resizeWindow(title, *size)
        self._before_full_screen: tuple[int, int] | None = None

    def toggle_full_screen(self) -> None:
        """Also resized, because Qt leaves that to a window manager, and a kiosk has none."""
        back, screen = self._before_full_screen, screen_size()
        self._before_full_screen = None if back else self.size
        if back:
            cv2.setWindowProperty(self.title, cv2.WND_PROP_FULLSCREEN, cv2.WINDOW_NORMAL)
            cv2.resizeWindow(self.title, *back)
            return
        if screen is not None:
            cv2.moveWindow(self.title, 0, 0)
            cv2.resizeWindow(self.title, *screen)
        cv2.setWindowProperty(self.title, cv2.WND_PROP_FULLSCREEN, cv2.WINDOW_FULLSCREEN)

    @property
    def size(self) -> tuple[int, int]:
        """The width and height available for an image."""
        if not self._shown or self.closed:
            return self._size
        _, _, width, height = cv2.getWindowImageRect(self.title)
        return (width, height) if width > 0 and height > 0 else self._size

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
