"""``rtsp://`` between FFmpeg and FFmpeg: one plays a clip and packs it for RTP, the other, inside
OpenCV, asks for it; what stands between them is the few words that an IP camera speaks."""

from __future__ import annotations

import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.sources import Source, open_source
from rankotom_edge.sources.opencv_capture import READ_SECONDS

pytestmark = pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="ffmpeg, which plays the camera, is not installed"
)
FPS = 20
OVER_TCP = "RTP/AVP/TCP;unicast;interleaved=0-1"


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, description: bytes, packets: socket.socket) -> None:
        super().__init__(("127.0.0.1", port), Session)
        self.description = description
        self.packets = packets
        self.ended = threading.Event()


class Session(socketserver.StreamRequestHandler):
    """RTSP 1.0 (RFC 2326) with the pictures in the same connection, as OpenCV asks for them."""

    server: Server

    def handle(self) -> None:
        while request := self._request():
            method, wanted, fields = request
            if method == "DESCRIBE":
                kind = f"Content-Type: application/sdp\r\nContent-Base: {wanted}/\r\n"
                self._answer(fields, kind, self.server.description)
            elif method == "SETUP":
                assert "interleaved" in fields["transport"]
                self._answer(fields, f"Transport: {OVER_TCP}\r\nSession: 1\r\n")
            else:
                self._answer(fields, "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\n")
            if method == "PLAY":
                self._play()
                return

    def _request(self) -> tuple[str, str, dict[str, str]] | None:
        lines = []
        while line := self.rfile.readline().decode().strip():
            lines.append(line)
        if not lines:
            return None
        method, wanted, _ = lines[0].split()
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        return method, wanted, fields

    def _answer(self, fields: dict[str, str], more: str, body: bytes = b"") -> None:
        head = f"RTSP/1.0 200 OK\r\nCSeq: {fields['cseq']}\r\n{more}Content-Length: {len(body)}"
        self.wfile.write(f"{head}\r\n\r\n".encode() + body)

    def _play(self) -> None:
        while not self.server.ended.is_set():
            try:
                packet = self.server.packets.recv(65536)
                self.wfile.write(b"$\0" + len(packet).to_bytes(2, "big") + packet)
            except TimeoutError:
                continue
            except OSError:
                return  # the reader has seen enough


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def played(clip: Path, folder: Path, port: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The camera's address, and who plays it, while it is on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
        packets.bind(("127.0.0.1", 0))
        described = folder / f"camera-{time.monotonic_ns()}.sdp"
        to_us = f"rtp://127.0.0.1:{packets.getsockname()[1]}?pkt_size=1200"
        player = subprocess.Popen(
            [
                *("ffmpeg", "-v", "quiet", "-re", "-stream_loop", "-1", "-i", str(clip)),
                *("-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "10"),
                *("-pix_fmt", "yuv420p", "-f", "rtp", "-sdp_file", str(described), to_us),
            ],
            stdin=subprocess.DEVNULL,
        )
        try:
            packets.recv(65536)  # what it describes is written before anything is sent
            packets.settimeout(0.1)
            lines = described.read_text().splitlines()
            streams = [line for line in lines if line.startswith(("m=", "a=rtpmap", "a=fmtp"))]
            description = "\r\n".join(
                ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=a camera", "t=0 0", *streams, "a=control:0"]
            )
            with Server(port, f"{description}\r\n".encode(), packets) as server:
                threading.Thread(target=server.serve_forever, args=(0.05,)).start()
                try:
                    yield f"rtsp://127.0.0.1:{port}/live", player
                finally:
                    server.ended.set()
                    server.shutdown()
        finally:
            player.kill()
            player.wait()


def brightness(source: Source) -> float:
    frame = source.read(timeout=10)
    assert frame is not None
    return float(frame.image.mean())


def test_an_ip_camera_is_read_at_its_own_pace(clip: Path, tmp_path: Path) -> None:
    with played(clip, tmp_path, free_port()) as (address, _), open_source(address) as source:
        assert (source.name, source.live) == (address, True)
        while (frame := source.read(timeout=10)) is not None and frame.time < 0.5:
            pass  # what FFmpeg took to learn what comes, about a second, comes at once
        began = time.monotonic()
        levels = [brightness(source) for _ in range(FPS)]
        lasted = time.monotonic() - began
        frame = source.read(timeout=10)
    assert frame is not None
    assert frame.image.shape == (120, 160, 3)
    assert len({round(level) for level in levels}) > 10, "the picture stands still"
    assert lasted > 0.5


def wait_for(source: Source, kind: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while source.state.kind != kind:
        assert time.monotonic() < deadline, f"it is {source.state.words}"
        source.read(timeout=0.1)


def test_an_ip_camera_that_was_switched_off_is_opened_again(clip: Path, tmp_path: Path) -> None:
    port = free_port()
    with played(clip, tmp_path, port) as (address, _):
        source = open_source(address)
    with source:
        wait_for(source, "lost", 10)
        with played(clip, tmp_path, port):
            wait_for(source, "playing", 20)
            assert source.read(timeout=10) is not None


def test_an_ip_camera_that_falls_silent_is_lost(clip: Path, tmp_path: Path) -> None:
    with played(clip, tmp_path, free_port()) as (address, player), open_source(address) as source:
        player.send_signal(signal.SIGSTOP)
        # FFmpeg waits in vain, gives the picture that it had held back, and waits once more.
        wait_for(source, "lost", 2 * READ_SECONDS + 4)


def test_an_address_without_a_camera_is_an_error_at_once_without_the_password() -> None:
    began = time.monotonic()
    with pytest.raises(RankotomError, match=r"from rtsp://127\.0\.0\.1:") as raised:
        open_source(f"rtsp://me:secret@127.0.0.1:{free_port()}/live")
    assert "secret" not in str(raised.value)
    assert time.monotonic() - began < 5
