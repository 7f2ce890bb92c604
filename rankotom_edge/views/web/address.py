"""Where the page is: the port that is listened on, who may come, and the links that lead there."""

from __future__ import annotations

import errno
import ipaddress
import re
import secrets
import socket
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

from calib.errors import RankotomError
from calib.files import replace_file

HOST, PORT = "127.0.0.1", 8000
# What the kernel may hold back for one reader: a reader on a slow line sees a picture that is this
# many bytes old, so it is a few pictures and no more.
SEND_BUFFER = 64 * 1024
# Milliseconds after which the kernel drops a reader that takes nothing (a phone out of reach).
SILENCE_MS = 20_000
TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{32,512}")


@dataclass(frozen=True)
class Address:
    """``token`` is None where only this machine can reach the port."""

    host: str
    port: int
    token: str | None
    socket: socket.socket = field(repr=False, compare=False)

    @property
    def links(self) -> tuple[str, ...]:
        """What a person opens; with the token where it takes one."""
        query = "" if self.token is None else f"?token={self.token}"
        return tuple(f"http://{name}:{self.port}/{query}" for name in self._names())

    def admits(self, name: str) -> bool:
        """Whether a request to this name was meant for us, and not led here by another site's DNS.

        An address needs no DNS, so no other site can have given it a new meaning.
        """
        address = _as_address(name)
        if self.token is None:
            return name == "localhost" if address is None else address.is_loopback
        ours = socket.gethostname().lower()
        return address is not None or name in {
            "localhost",
            self.host.lower(),
            ours,
            f"{ours}.local",
        }

    def _names(self) -> tuple[str, ...]:
        address = _as_address(self.host)
        if address is None or not address.is_unspecified:
            return (f"[{self.host}]" if address and address.version == 6 else self.host,)
        return interface_addresses() or (f"{socket.gethostname()}.local",)


def listen(host: str = HOST, port: int = PORT, token_file: Path | None = None) -> Address:
    """The port is ours from here on; port 0 is one that is free. A token that is kept in a file is
    the same at every start, and asked for on this machine too."""
    try:
        family, kind, protocol, _, at = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise RankotomError(
            f"There is no host {host!r} to listen on. Give --host an address of this machine, "
            "or 0.0.0.0 for all of them."
        ) from None
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Set here, every connection that is accepted has them.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MS)
        listening.bind(at)
        listening.listen()
    except OSError as error:
        listening.close()
        raise RankotomError(_why_not(host, port, error)) from error
    try:
        token = None if _is_loopback(listening) else secrets.token_urlsafe(TOKEN_BYTES)
        if token_file is not None:
            token = kept_token(token_file)
    except BaseException:
        listening.close()
        raise
    return Address(host, int(listening.getsockname()[1]), token, listening)


def kept_token(path: Path) -> str:
    """The token in a file for its owner's eyes alone; made where there is none."""
    try:
        if not path.exists():
            with replace_file(path, mode=0o600) as temporary:
                temporary.write_text(f"{secrets.token_urlsafe(TOKEN_BYTES)}\n", encoding="ascii")
        token = path.read_text(encoding="ascii").strip()
        seen_by_others = path.stat().st_mode & 0o077
    except (OSError, UnicodeError) as error:
        raise RankotomError(f"Cannot read the token in {path}: {error}.") from error
    if seen_by_others:
        raise RankotomError(f"Others may read the token in {path}. First: chmod 600 {path}")
    if not TOKEN.fullmatch(token):
        raise RankotomError(
            f"{path} holds no token: one line of 32 or more letters, digits, - and _. Remove it, "
            "and a new one is made."
        )
    return token


def interface_addresses() -> tuple[str, ...]:
    """This machine's IPv4 addresses but the loopback's, asked of the kernel and of nobody else."""
    if sys.platform != "linux":
        return ()
    import fcntl

    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, interface in socket.if_nameindex():
            asked = struct.pack("256s", interface.encode()[:15])
            try:
                answer = fcntl.ioctl(probe, _SIOCGIFADDR, asked)
            except OSError:  # an interface without an address
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return tuple(name for name in found if not ipaddress.ip_address(name).is_loopback)


_SIOCGIFADDR = 0x8915


def _is_loopback(listening: socket.socket) -> bool:
    return ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def _as_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} of {host} is in use, perhaps by another rankotom-edge. "
            "Choose another with --port, or --port 0 for any that is free."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than you have. Choose one above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"{host} is no address of this machine, so it can't be listened on. "
            "Use --host 0.0.0.0 for all that it has."
        )
    return f"Cannot listen on port {port} of {host}: {error.strerror}."
