from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.publish.broker import parse_broker, read_password


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("open sesame\n")
    path.chmod(0o600)
    return path


def test_an_address_has_a_port_a_topic_and_a_user(password_file: Path) -> None:
    broker = parse_broker("mqtts://ada@home.lan:8884/house/kitchen/", password_file)
    assert (broker.host, broker.port, broker.topic) == ("home.lan", 8884, "house/kitchen")
    assert (broker.tls, broker.user, broker.password) == (True, "ada", "open sesame")
    assert broker.device == "house-kitchen"
    assert "sesame" not in repr(broker)


def test_without_a_topic_it_is_the_machines_own() -> None:
    broker = parse_broker("mqtt://[::1]")
    assert (broker.host, broker.port) == ("::1", 1883)
    assert broker.topic == f"rankotom-edge/{socket.gethostname()}"
    assert parse_broker("mqtts://home.lan").port == 8883


def test_a_password_on_the_command_line_is_refused_and_not_repeated() -> None:
    with pytest.raises(RankotomError, match="--mqtt-password-file") as refused:
        parse_broker("mqtt://ada:sesame@home.lan")
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("home.lan", "takes an address like mqtt://broker:1883/kitchen"),
        ("http://home.lan", "takes an address"),
        ("mqtt://", "takes an address"),
        ("mqtt://home.lan:99999", "takes an address"),
        ("mqtt://home.lan/a?b=c", "takes an address"),
        ("mqtt://home.lan/house/+", "must not contain"),
        ("mqtt://home.lan/%23", "must not contain"),
        ("mqtt://home.lan/$SYS", "must not contain"),
    ],
)
def test_an_address_that_cannot_be_right_is_an_error(url: str, words: str) -> None:
    with pytest.raises(RankotomError, match=words):
        parse_broker(url)


def test_a_password_needs_a_user_and_a_certificate_tls(password_file: Path) -> None:
    with pytest.raises(RankotomError, match="A password needs a user"):
        parse_broker("mqtt://home.lan", password_file)
    with pytest.raises(RankotomError, match="is for mqtts://"):
        parse_broker("mqtt://home.lan", ca_file=password_file)
    with pytest.raises(RankotomError, match="There is no certificate"):
        parse_broker("mqtts://home.lan", ca_file=password_file.with_name("absent"))


def test_a_password_that_others_can_read_is_refused(password_file: Path) -> None:
    password_file.chmod(0o644)
    with pytest.raises(RankotomError, match="chmod 600"):
        read_password(password_file)


def test_a_file_without_a_password_is_refused(tmp_path: Path, password_file: Path) -> None:
    password_file.write_text("\nsesame\n")
    with pytest.raises(RankotomError, match="first line is empty"):
        read_password(password_file)
    with pytest.raises(RankotomError, match="No such file"):
        read_password(tmp_path / "absent")


def test_a_password_is_in_an_ordinary_file(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path, 0o600)
    with pytest.raises(RankotomError, match="not an ordinary file"):
        read_password(path)
