"""The address of the page: the port it listens on, its token, and the links to open."""

from __future__ import annotations

import base64
import errno
import hmac
import ipaddress
import os
import re
import secrets
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path

import ifaddr

from calib.errors import RankotomError
from calib.files import replace_file
from calib.input_files import check_input, read_private

HOST, PORT = "127.0.0.1", 8000
# Chosen by eye: bytes the kernel may hold per client, a few pictures. What a client on a slow
# connection sees is this many bytes behind.
SEND_BUFFER = 64 * 1024
# Milliseconds after which the kernel drops a client that receives nothing (a phone out of reach).
CLIENT_TIMEOUT_MS = 20_000  # chosen by eye
EVERYBODY = ("255.255.255.255", "127.255.255.255")
TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{32,512}")
FILE_BYTES = 1024 * 1024  # far more than a token or a chain of certificates has


@dataclass(frozen=True)
class Address:
    """``token`` is None if only this machine can reach the port: then everybody on it is the owner.
    Without ``tls`` the page is plain HTTP."""

    host: str
    port: int
    token: str | None
    socket: socket.socket = field(repr=False, compare=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    @property
    def links(self) -> tuple[str, ...]:
        """The owner's links for a browser, with the token if there is one."""
        return self._links(self.token)

    @property
    def viewer_links(self) -> tuple[str, ...]:
        """For people who may see, and press nothing."""
        return () if self.token is None else self._links(self.viewer_token)

    @property
    def viewer_token(self) -> str | None:
        """Follows from the owner's, so that it stays the same as long as that one does; the
        owner's does not follow from it."""
        if self.token is None:
            return None
        digest = hmac.digest(self.token.encode(), b"viewer", "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def _links(self, token: str | None) -> tuple[str, ...]:
        scheme = "http" if self.tls is None else "https"
        query = "" if token is None else f"?token={token}"
        return tuple(f"{scheme}://{name}:{self.port}/{query}" for name in self._names())

    def admits(self, name: str) -> bool:
        """Whether a Host header names this machine, so that no other site's DNS led here.

        A numeric address involves no DNS; without a token it has to be a loopback address.
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
        if not _bound_address(self.socket).is_unspecified:
            address = _as_address(self.host)
            return (f"[{self.host}]" if address and address.version == 6 else self.host,)
        return interface_addresses() or (f"{socket.gethostname()}.local",)


@dataclass(frozen=True)
class Access:
    """How the page is protected, besides the token that other machines need anyway."""

    token: bool = False  # required on this machine too
    token_file: Path | None = None  # stays the same at every start; required on this machine too
    tls_cert: Path | None = None
    tls_key: Path | None = None  # None if the certificate's file contains it


def listen(host: str = HOST, port: int = PORT, access: Access = Access()) -> Address:  # noqa: B008
    """Takes the port at once; port 0 is any free one."""
    tls = None if access.tls_cert is None else read_certificate(access.tls_cert, access.tls_key)
    try:
        family, kind, protocol, _, bind_address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise RankotomError(
            f"There is no host {host!r} to listen on. Give --host an address of this machine, "
            "or 0.0.0.0 for all of its addresses."
        ) from None
    _refuse_group(host, str(bind_address[0]))
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted connections inherit these options.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, CLIENT_TIMEOUT_MS)
        listening.bind(bind_address)
        listening.listen()
    except OSError as error:
        listening.close()
        raise RankotomError(_listen_error(host, port, error)) from error
    try:
        open_to_all = _is_loopback(listening) and not access.token
        token = None if open_to_all else secrets.token_urlsafe(TOKEN_BYTES)
        if access.token_file is not None:
            token = read_or_create_token(access.token_file)
    except BaseException:
        listening.close()
        raise
    return Address(host, int(listening.getsockname()[1]), token, listening, tls)


def read_certificate(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Refuses a key that every user of this machine can read."""
    holds_key = key or certificate
    try:
        for path in (certificate, holds_key):
            check_input(path, FILE_BYTES)
        if os.name == "posix" and holds_key.stat().st_mode & 0o004:
            raise RankotomError(
                f"Every user of this machine can read the TLS key in {holds_key}. First run: "
                f"chmod o-r {holds_key}"
            )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # Python would ask for a password in the terminal.
        context.load_cert_chain(certificate, key, password=b"")
    except ssl.SSLError as error:
        raise RankotomError(
            f"Cannot use {certificate} for TLS: {error.reason or 'no certificate, or no key'}. "
            "Give --tls-cert a certificate in PEM format, and --tls-key its key without a password."
        ) from None
    except OSError as error:
        missing = error.filename or f"{certificate} or {holds_key}"
        raise RankotomError(f"Cannot read {missing}: {error.strerror}.") from None
    return context


def _refuse_group(host: str, numeric: str) -> None:
    """Addresses of many machines can be listened on, and nobody can connect to them."""
    address = ipaddress.ip_address(numeric.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    kind = "multicast" if address.is_multicast else None
    if str(address) in EVERYBODY or (
        not (address.is_loopback or address.is_unspecified)
        and str(address) in broadcast_addresses()
    ):
        kind = "broadcast"
    if kind is not None:
        raise RankotomError(
            f"{host} is a {kind} address: of many machines, not of this one. "
            "Use --host 0.0.0.0 to listen on all addresses of this machine."
        )


def broadcast_addresses() -> set[str]:
    """Of the networks that this machine is in."""
    of_each = (ip for adapter in ifaddr.get_adapters() for ip in adapter.ips if ip.is_IPv4)
    networks = (
        ipaddress.ip_network(f"{ip.ip}/{ip.network_prefix}", strict=False)
        for ip in of_each
        if ip.network_prefix < 31  # two addresses are two machines
    )
    return {str(network.broadcast_address) for network in networks}


def read_or_create_token(path: Path) -> str:
    """Refuses a file that other users can read, or that holds something else."""
    try:
        if not path.exists():
            with replace_file(path, mode=0o600) as temporary:
                temporary.write_text(f"{secrets.token_urlsafe(TOKEN_BYTES)}\n", encoding="ascii")
    except OSError as error:
        raise RankotomError(f"Cannot read the token in {path}: {error.strerror}.") from error
    token = read_private(path, FILE_BYTES, "token").strip()
    if not TOKEN.fullmatch(token):
        raise RankotomError(
            f"{path} holds no token (one line of 32 or more letters, digits, - and _). Remove the "
            "file and a new one will be made."
        )
    return token


def interface_addresses() -> tuple[str, ...]:
    """This machine's IPv4 addresses, without the loopback's."""
    found = (str(ip.ip) for adapter in ifaddr.get_adapters() for ip in adapter.ips if ip.is_IPv4)
    return tuple(name for name in found if not ipaddress.ip_address(name).is_loopback)


def _is_loopback(listening: socket.socket) -> bool:
    return _bound_address(listening).is_loopback


def _bound_address(listening: socket.socket) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(listening.getsockname()[0].partition("%")[0])


def _as_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _listen_error(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} of {host} is in use, perhaps by another rankotom-edge. "
            "Choose another with --port, or any free one with --port 0."
        )
    if error.errno == errno.EACCES:
        return f"You may not listen on port {port}. Choose one above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"{host} is not an address of this machine. "
            "Use --host 0.0.0.0 to listen on all of its addresses."
        )
    return f"Cannot listen on port {port} of {host}: {error.strerror}."
