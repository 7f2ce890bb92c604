"""Hides the passwords in a source's URL or pipeline before it is shown or recorded."""

import re

SECRET = r"(?i)((?:user|usr|login|pass|pwd?|token|key|auth)[\w-]*)"
IN_URL = rf"{SECRET}=[^&/;\s]*"
# GStreamer properties, such as rtspsrc's user-id, user-pw and proxy-pw.
IN_PIPELINE = rf"""{SECRET}\s*=\s*("(?:\\.|[^"\\])*"|'[^']*'|\S*)"""


def hide_password(source: str) -> str:
    """Cameras carry credentials as user:password@, as ?user=…&pwd=…, or as such pairs in the
    path."""
    if " ! " in source:
        return re.sub(IN_PIPELINE, r"\1=…", re.sub(r"(?<=://)[^\s!]+@", "", source))
    shown = re.sub(r"(?<=://)[^/?#]+@", "", source).partition("?")[0].partition("#")[0]
    return re.sub(IN_URL, r"\1=…", shown)
