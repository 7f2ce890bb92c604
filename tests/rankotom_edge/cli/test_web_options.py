"""``rankotom-edge camera --view web``: the page, its address and its token."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Watch

DEMO = ["--source", "demo", "--view", "web", "--port", "0"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rankotom_edge", "camera", *arguments]


@contextmanager
def running(
    *arguments: str, before: tuple[str, ...] = (), **settings: Any
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, and the link that it printed."""
    with subprocess.Popen(
        [*before, *command(*arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    ) as program:
        try:
            assert program.stderr is not None
            said = ""
            for line in program.stderr:
                said += line
                if line.startswith("The page: "):
                    break
            assert "The page: " in said, said
            yield program, said.rpartition("The page: ")[2].strip()
        finally:
            program.kill()


def fetch(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def wait_until_healthy(link: str) -> None:
    ends = time.monotonic() + 60
    while fetch(f"{link}healthz")[0] != 200:
        assert time.monotonic() < ends
        time.sleep(0.1)


def refused(*arguments: str, **settings: Any) -> str:
    finished = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=300, check=False, **settings
    )
    assert finished.returncode == 2, finished.stderr
    assert "Traceback" not in finished.stderr
    return re.sub(r"[\s│]+", " ", finished.stderr)


def test_the_real_loop_is_read_by_a_program_and_ends_on_ctrl_c() -> None:
    with running(*DEMO) as (program, link):
        wait_until_healthy(link)
        with urllib.request.urlopen(f"{link}api/readings", timeout=60) as stream:
            lines = (line.decode() for line in stream)
            data = [next(line for line in lines if line.startswith("data: ")) for _ in range(60)]
        readings = [json.loads(line.removeprefix("data: ")) for line in data]
        faces = [face for line in readings for face in line["faces"]]
        assert faces
        assert {face["top"] for face in faces} == {"happiness"}
        assert json.loads(fetch(f"{link}api/meta")[1])["name"] == "ferplus-int8"
        metrics = fetch(f"{link}metrics")[1]
        assert re.search(r"^rankotom_frames_total [1-9]", metrics, re.MULTILINE)
        assert re.search(r'^rankotom_drift\{rankotom_drift="learning"\} 1', metrics, re.MULTILINE)
        port = int(link.rstrip("/").rpartition(":")[2])
        stalled = socket.create_connection(("127.0.0.1", port))
        stalled.sendall(f"GET /video HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == 130
        assert program.stderr is not None
        said = program.stderr.read()
        assert "frames" in said
        assert "Traceback" not in said
        assert "rror" not in said
        with socket.create_server(("127.0.0.1", port), reuse_port=False):
            pass  # the port is free at once
        stalled.close()


def test_q_on_the_page_ends_the_program_with_status_0() -> None:
    with running(*DEMO) as (program, link):
        assert fetch(f"{link}api/keys/q", "POST")[0] == 204
        assert program.wait(30) == 0


def test_another_host_prints_a_link_with_a_token_and_answers_to_nothing_else() -> None:
    with running(*DEMO, "--host", "0.0.0.0", "--no-video") as (program, link):
        assert re.fullmatch(r"http://[\w.-]+:\d+/\?token=[\w-]{43}", link)
        page, _, token = link.partition("?token=")
        here = re.sub(r"//.*:", "//127.0.0.1:", page)
        assert fetch(here)[0] == 401
        assert fetch(f"{here}metrics")[0] == 401
        assert fetch(f"{here}metrics", Authorization=f"Bearer {token}")[0] == 200
        assert fetch(f"{here}video", Authorization=f"Bearer {token}")[0] == 404
        fetch(link.replace(page, here))
        program.send_signal(signal.SIGTERM)
        program.wait(30)
        assert program.stderr is not None
        assert token not in program.stderr.read()


def test_a_token_here_too_and_a_link_for_viewers_that_presses_nothing() -> None:
    with running(*DEMO, "--token") as (program, link):
        assert program.stderr is not None
        watching = program.stderr.readline().rpartition("Only to watch: ")[2].strip()
        page, _, token = watching.partition("?token=")
        assert fetch(f"{page}metrics")[0] == 401
        assert fetch(f"{page}metrics", Authorization=f"Bearer {token}")[0] == 200
        assert fetch(f"{page}api/keys/q", "POST", Authorization=f"Bearer {token}")[0] == 403
        owner = link.partition("?token=")[2]
        assert fetch(f"{page}api/keys/q", "POST", Authorization=f"Bearer {owner}")[0] == 204
        assert program.wait(30) == 0


def test_a_port_in_use_is_an_error_before_the_camera_is_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused("--source", "no-such-camera", "--view", "web", "--port", port)
    assert f"Port {port} of 127.0.0.1 is in use" in said
    assert "no-such-camera" not in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--view", "web", "--host", "no such host"], "There is no host 'no such host'"),
        (["--view", "web", "--host", "192.0.2.1"], "is not an address of this machine"),
        (["--view", "web", "--host", "224.0.0.1"], "is a multicast address"),
        (["--view", "web", "--tls-cert", "/no/such/file"], "Cannot read /no/such/file"),
        (["--view", "web", "--tls-key", "key.pem"], "--tls-key needs --tls-cert"),
        (["--view", "none", "--port", "8000"], "--port is for --view web"),
        (["--view", "none", "--no-video"], "--no-video is for --view web"),
    ],
)
def test_bad_input_is_an_error_of_a_line_or_two(arguments: list[str], words: str) -> None:
    assert words in refused("--source", "demo", "--frames", "5", *arguments)


def test_a_missing_package_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(name='uvicorn')\n")
    said = refused(*DEMO, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert "pip install 'rankotom-edge[web]'" in said


def test_a_whole_run_talks_to_this_machine_alone(watch: Watch) -> None:
    """Every socket that is opened, bound or connected; and no name is looked up."""
    with running(*DEMO, "--frames", "90", before=watch.over("network")) as (program, link):
        with urllib.request.urlopen(f"{link}video", timeout=60) as video:
            assert len(video.read(20_000)) == 20_000
        assert fetch(link)[0] == 200
        assert program.wait(120) == 0
    lines = watch.calls
    assert any("bind(" in line for line in lines)
    named = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')
    addresses = {found for line in lines for pair in named.findall(line) for found in pair if found}
    assert addresses == {"127.0.0.1"}
    assert [line for line in lines if "SOCK_DGRAM" in line or "AF_NETLINK" in line] == []
