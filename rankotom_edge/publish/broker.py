"""Where ``--mqtt`` sends to: the broker, the topic, and the password, which comes from a file."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from calib.errors import RankotomError
from calib.input_files import read_private

PORTS = {"mqtt": 1883, "mqtts": 8883}  # without and with TLS
MOST_PASSWORD = 64 * 1024  # bytes of its file
EXAMPLE = "mqtt://broker:1883/kitchen"


@dataclass(frozen=True)
class Broker:
    host: str
    port: int
    topic: str  # every topic of ours begins with it
    tls: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def device(self) -> str:
        """The topic as an identifier."""
        return re.sub(r"[^A-Za-z0-9_-]+", "-", self.topic)


def parse_broker(
    url: str, password_file: Path | None = None, ca_file: Path | None = None
) -> Broker:
    try:
        parts = urlsplit(url)
        host, port, given = parts.hostname, parts.port, parts.password
    except ValueError:
        host, port, given = None, None, None
        parts = urlsplit("")
    if given is not None:
        raise RankotomError(
            "--mqtt must not contain a password, which other users could see. Write it to a file "
            "and name that with --mqtt-password-file."
        )
    if parts.scheme not in PORTS or not host or parts.query or parts.fragment:
        raise RankotomError(f"--mqtt takes an address like {EXAMPLE}, or mqtts:// for TLS.")
    topic = unquote(parts.path).strip("/") or f"rankotom-edge/{socket.gethostname()}"
    if re.search(r"[+#\x00]|^\$", topic):
        raise RankotomError(f"The topic {topic!r} of --mqtt must not contain +, # or a leading $.")
    tls = parts.scheme == "mqtts"
    if ca_file is not None and not tls:
        raise RankotomError("--mqtt-ca is for mqtts:// addresses.")
    if ca_file is not None and not ca_file.is_file():
        raise RankotomError(f"There is no certificate {ca_file}, which --mqtt-ca names.")
    user = None if parts.username is None else unquote(parts.username)
    if password_file is not None and user is None:
        raise RankotomError(f"A password needs a user: {parts.scheme}://USER@{host}/…")
    password = None if password_file is None else read_password(password_file)
    return Broker(host, port or PORTS[parts.scheme], topic, tls, user, password, ca_file)


def read_password(path: Path) -> str:
    """The first line. Refuses a file that other users can read."""
    password, *_ = read_private(path, MOST_PASSWORD, "password").splitlines() or [""]
    if not password:
        raise RankotomError(f"{path} holds no password: its first line is empty.")
    return password
