"""``rankotom-edge camera`` with streams to other programs: real ones, wrong ones, and none."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

DEMO = ["--source", "demo", "--view", "none"]


def camera(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankotom_edge", "camera", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **settings,
    )


def refused(*arguments: str, **settings: Any) -> str:
    finished = camera(*arguments, **settings)
    assert finished.returncode == 2, finished.stderr
    assert "Traceback" not in finished.stderr
    return re.sub(r"[\s│]+", " ", finished.stderr)


def test_a_run_says_in_the_end_what_it_sent_to_whom(tmp_path: Path) -> None:
    """With all three at once, and a broker that is not there."""
    config = tmp_path / "lsl_api.cfg"
    config.write_text("[multicast]\nResolveScope = machine\nAddressesOverride = {127.0.0.1}\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        osc = f"127.0.0.1:{listening.getsockname()[1]}"
        listening.settimeout(60)
        mqtt = "mqtt://127.0.0.1:1/kitchen"
        finished = camera(
            *(*DEMO, "--frames", "20", "--lsl", "--osc", osc, "--mqtt", mqtt),
            env={**os.environ, "LSLAPICFG": str(config)},
        )
        assert listening.recv(2000).startswith(b"#bundle")
    assert finished.returncode == 0, finished.stderr
    assert "note: cannot reach the MQTT broker 127.0.0.1:1" in finished.stderr
    assert "lsl: 20 frames sent\n" in finished.stderr
    assert "osc: 20 frames sent\n" in finished.stderr
    assert "mqtt: 0 frames sent, 20 dropped\n" in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--osc", "9000"], "--osc takes HOST:PORT"),
        (["--osc", "here:port"], "--osc takes HOST:PORT"),
        (["--mqtt", "home.lan"], "--mqtt takes an address like mqtt://broker:1883/kitchen"),
        (["--mqtt", "mqtt://ada:sesame@home.lan"], "--mqtt-password-file"),
        (["--mqtt-password-file", "x"], "--mqtt-password-file is for --mqtt"),
    ],
)
def test_bad_options_are_errors_before_the_camera_is_opened(
    arguments: list[str], words: str
) -> None:
    said = refused("--source", "no-such-camera", "--view", "none", *arguments)
    assert words in said
    assert "no-such-camera" not in said
    assert "sesame" not in said


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (["--lsl"], "pylsl"),
        (["--mqtt", "mqtt://127.0.0.1:1"], "paho"),
        (["--osc", "127.0.0.1:9000"], "pythonosc"),
    ],
)
def test_a_missing_package_names_the_extra(
    arguments: list[str], module: str, tmp_path: Path
) -> None:
    (tmp_path / f"{module}.py").write_text(f"raise ModuleNotFoundError(name='{module}')\n")
    said = refused(*DEMO, *arguments, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert f"this needs {module}" in said
    assert "pip install 'rankotom-edge[streams]'" in said


def test_the_streams_have_a_panel_of_their_own_in_the_help(run: Any) -> None:
    page = run("camera", "--help", TERMINAL_WIDTH="100").stdout
    panel = page.partition("Streams to other programs")[2].partition("╰")[0]
    for option in ("--lsl", "--mqtt ", "--mqtt-password-file", "--mqtt-ca", "--osc"):
        assert option in panel


def test_a_run_without_streams_loads_none_of_their_packages(loaded_modules: Any) -> None:
    loaded = loaded_modules("camera", *DEMO, "--frames", "3")
    assert "onnxruntime" in loaded
    assert loaded & {"pylsl", "paho", "pythonosc", "websockets"} == set()


def test_what_was_sent_and_dropped_is_in_the_metrics_of_the_page() -> None:
    web = ["--source", "demo", "--view", "web", "--port", "0", "--osc", "127.0.0.1:9"]
    with subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", "camera", *web], stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stderr is not None
            said = next(line for line in program.stderr if line.startswith("The page: "))
            address = said.removeprefix("The page: ").strip() + "metrics"
            ends = time.monotonic() + 60
            sent = 0.0
            while not sent:
                assert time.monotonic() < ends
                with urllib.request.urlopen(address, timeout=60) as answer:
                    text = answer.read().decode()
                found = re.search(r'^rankotom_stream_sent_total\{stream="osc"\} (\S+)', text, re.M)
                sent = 0.0 if found is None else float(found[1])
            assert 'rankotom_stream_dropped_total{stream="osc"} 0.0' in text
        finally:
            program.kill()
