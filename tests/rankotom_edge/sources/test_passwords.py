from __future__ import annotations

import pytest

from rankotom_edge.sources.passwords import hide_password
from rankotom_edge.sources.source_parser import parse_source


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("rtsp://admin:s3cret@10.0.0.2/ch1", "rtsp://10.0.0.2/ch1"),
        ("rtsp://admin:p@ss@10.0.0.2/ch1", "rtsp://10.0.0.2/ch1"),
        ("http://host/a@b?to=c@d", "http://host/a@b"),
        ("http://cam/video.cgi?user=admin&pwd=s3cret", "http://cam/video.cgi"),
        (
            "rtsp://h/user=admin&password=s3cret&channel=1.sdp",
            "rtsp://h/user=…&password=…&channel=1.sdp",
        ),
        ("udp://@239.0.0.1:1234", "udp://@239.0.0.1:1234"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert hide_password(url) == shown
    assert parse_source(url).name == shown


@pytest.mark.parametrize(
    "secret", ["s3cret", '"s3 cret"', "'s3 cret'", r'"s3\" cret"', "s3/cr&e;t", "s3@cret"]
)
def test_a_password_in_a_pipeline_is_not_shown_either(secret: str) -> None:
    given = f"rtspsrc location=rtsp://me:s3@cam/1 user-pw={secret} proxy-pw={secret} ! decodebin"
    shown = "rtspsrc location=rtsp://cam/1 user-pw=… proxy-pw=… ! decodebin"
    assert hide_password(given) == shown
