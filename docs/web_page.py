"""The page of ``camera --view web`` in a headless Chromium, for the pictures."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import cv2
import numpy as np

from calib.errors import RankotomError
from rankotom_edge.frame import Image

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--hide-scrollbars",
)


@contextmanager
def open_page(source: str, size: tuple[int, int]) -> Iterator[Callable[[], Image]]:
    """A function that takes a picture of the page, ``size`` pixels large."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", source]
    with subprocess.Popen(
        [*command, "--view", "web", "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as camera:
        try:
            browser = webdriver.Chrome(options=options, service=service)
            try:
                width, height = size
                metrics = {"width": width, "height": height, "deviceScaleFactor": 1}
                browser.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride", metrics | {"mobile": False}
                )
                browser.get(printed_link(camera.stderr))
                yield lambda: decode(browser.get_screenshot_as_png())
            finally:
                browser.quit()
        finally:
            camera.terminate()


def printed_link(lines: Iterable[str] | None) -> str:
    heard = list[str]()
    for line in lines or ():
        _, found, link = line.partition("The page: ")
        if found:
            return link.strip()
        heard.append(line)
    raise RankotomError(f"camera printed no link: {''.join(heard)}")


def decode(png: bytes) -> Image:
    picture = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(picture, np.uint8)
