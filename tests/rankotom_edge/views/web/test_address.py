"""A port is taken or the error says why not; other machines need a token."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.views.web.address import Access, Address, interface_addresses, listen


@contextmanager
def listening(host: str, port: int = 0) -> Iterator[Address]:
    address = listen(host, port)
    try:
        yield address
    finally:
        address.socket.close()


def test_this_machine_needs_no_token() -> None:
    for host in ("127.0.0.1", "localhost"):
        with listening(host) as address:
            assert address.token is None
            assert address.links == (f"http://{host}:{address.port}/",)


def test_any_other_host_gets_a_token_of_its_own() -> None:
    tokens = set()
    for _ in range(3):
        with listening("0.0.0.0") as address:
            assert address.token is not None
            assert len(address.token) >= 43  # 256 bits
            tokens.add(address.token)
    assert len(tokens) == 3


def test_the_links_of_all_addresses_are_such_as_a_person_can_open() -> None:
    with listening("0.0.0.0") as address:
        assert address.links
        for link in address.links:
            assert link.endswith(f":{address.port}/?token={address.token}")
            assert "0.0.0.0" not in link
            assert "127.0.0.1" not in link
    for name in interface_addresses():
        with listening(name):  # each is this machine's, or it could not be listened on
            pass


def test_a_port_in_use_is_an_error_with_advice() -> None:
    with (
        listening("127.0.0.1") as first,
        pytest.raises(RankotomError, match=rf"Port {first.port} .* in use.*--port"),
    ):
        listen("127.0.0.1", first.port)


@pytest.mark.parametrize("host", ["no such host", "192.0.2.1", "a" * 300])
def test_a_host_that_is_not_ours_is_an_error_with_advice(host: str) -> None:
    with pytest.raises(RankotomError, match="--host"):
        listen(host, 0)


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("255.255.255.255", "broadcast"),
        ("127.255.255.255", "broadcast"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.250", "multicast"),
        ("ff02::1", "multicast"),
        ("::ffff:224.0.0.1", "multicast"),
    ],
)
def test_an_address_of_many_machines_is_an_error_with_advice(host: str, kind: str) -> None:
    with pytest.raises(RankotomError, match=rf"{kind} address.*--host 0\.0\.0\.0"):
        listen(host, 0)


def test_a_token_can_be_required_on_this_machine_too() -> None:
    address = listen(port=0, access=Access(token=True))
    with closing(address.socket):
        assert address.token is not None
        assert address.links == (f"http://127.0.0.1:{address.port}/?token={address.token}",)


def test_the_viewers_token_follows_from_the_owners_and_is_another(tmp_path: Path) -> None:
    links = set()
    for _ in range(2):
        address = listen(port=0, access=Access(token_file=tmp_path / "token"))
        with closing(address.socket):
            assert address.viewer_token not in (None, address.token)
            assert len(address.viewer_token or "") == 43  # 256 bits
            assert address.viewer_links[0].endswith(f"/?token={address.viewer_token}")
            links.add(address.viewer_token)
    assert len(links) == 1
    with listening("127.0.0.1") as local:
        assert local.viewer_links == ()


def test_a_port_that_was_given_up_can_be_taken_at_once() -> None:
    with listening("127.0.0.1") as address:
        client = socket.create_connection(("127.0.0.1", address.port))
        accepted, _ = address.socket.accept()
        accepted.close()  # from our side: it would rest in TIME_WAIT
    client.close()
    with listening("127.0.0.1", address.port) as again:
        assert again.port == address.port


def test_only_names_that_mean_this_machine_are_admitted() -> None:
    with listening("127.0.0.1") as local:
        assert all(local.admits(name) for name in ("127.0.0.1", "localhost", "::1"))
        assert not any(
            local.admits(name) for name in ("", "evil.example", "10.0.0.7", "localhost.")
        )
        shared = replace(local, host="0.0.0.0", token="t")
        assert all(shared.admits(name) for name in ("10.0.0.7", "localhost", "fe80::1"))
        assert shared.admits(socket.gethostname().lower())
        assert not any(
            shared.admits(name) for name in ("", "evil.example", "10.0.0.7.evil.example")
        )


def test_a_token_file_is_made_once_for_its_owner_alone_and_used_here_too(
    tmp_path: Path,
) -> None:
    path = tmp_path / "token"
    tokens = set()
    for _ in range(2):
        with closing(listen(port=0, access=Access(token_file=path)).socket):
            tokens.add(path.read_text().strip())
    (token,) = tokens
    assert path.stat().st_mode & 0o777 == 0o600
    address = listen(port=0, access=Access(token_file=path))
    with closing(address.socket):
        assert address.token == token
        assert address.links == (f"http://127.0.0.1:{address.port}/?token={token}",)


@pytest.mark.parametrize("host", ["0", "*", "::"])
def test_another_spelling_of_all_addresses_is_no_name_in_a_link(host: str) -> None:
    with listening(host) as address:
        assert all(f"//{host}:" not in link for link in address.links)


def test_a_token_file_is_an_ordinary_one_and_not_read_before_its_mode_is_known(
    tmp_path: Path,
) -> None:
    fifo, shown = tmp_path / "fifo", tmp_path / "shown"
    os.mkfifo(fifo, 0o600)
    shown.write_bytes(b"\xff" * 100)
    shown.chmod(0o644)
    for path, words in (
        (fifo, "not an ordinary file"),
        (Path("/dev/zero"), "not an ordinary file"),
        (tmp_path, "Cannot read"),
        (shown, "chmod 600"),
    ):
        with pytest.raises(RankotomError, match=words):
            listen(port=0, access=Access(token_file=path))


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("short", 0o600, "holds no token"),
        ("a" * 31 + "/" + "b" * 9, 0o600, "holds no token"),
        ("a" * 43, 0o644, "chmod 600"),
    ],
)
def test_a_token_file_that_would_not_guard_anything_is_refused(
    tmp_path: Path, content: str, mode: int, words: str
) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(RankotomError, match=words):
        listen(port=0, access=Access(token_file=path))
