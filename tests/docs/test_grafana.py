"""Every query of the dashboard asks for metrics and labels that exist, and a real Prometheus
understands it."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.frame import Frame
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from rankotom_edge.sources import State
from rankotom_edge.views.display import Status

prometheus = pytest.importorskip(
    "rankotom_edge.publish.prometheus", reason="prometheus-client is not installed"
)
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

DASHBOARD = json.loads(
    (Path(__file__).parents[2] / "docs" / "grafana.json").read_text(encoding="utf-8")
)
QUERIES = {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}
SELECTOR = re.compile(r"\b((?:rankotom|process)_\w+)(?:\{([^}]*)\})?")
INSTANCE = "instance"  # Prometheus adds it


@pytest.fixture(scope="module")
def sink() -> Any:
    """With a face, a drift and a stream: everything that has a metric."""
    sink = prometheus.PrometheusSink("ferplus-int8", "int8", "abc")
    sink.watch([SimpleNamespace(name="mqtt", sent=5, dropped=1, connected=True)])
    shares = np.full(len(EMOTIONS), 0.3 / 7)
    shares[1] = 0.7
    good = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
    face = Face((200, 120, 120, 120), (235, 160), (285, 160), (260, 185), (260, 215), 0.9)
    read = Reading(1, face, good, EMOTIONS, shares, shares, None, "sure", None)
    frame = Frame(np.zeros((4, 4, 3), np.uint8), 0, 0.0, 0.0)
    sink.write(FrameReadings(frame, (read,), Latency(2.0, 1.0, 12.0)))
    return sink


def page(sink: Any) -> bytes:
    drift = DriftStatus("drifted", 0.3, 80, "", "light is low", None)
    status = Status("camera 0", State("playing", ""), 29.5, 12.3, 2, "a", "int8", drift=drift)
    text, _ = sink.page(status)
    return bytes(text)


@pytest.fixture(scope="module")
def samples(sink: Any) -> dict[str, dict[str, set[str]]]:
    """Of each metric its labels, and of each label its values."""
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(page(sink).decode()):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return found


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_names_metrics_labels_and_values_that_exist(
    query: str, samples: dict[str, dict[str, set[str]]]
) -> None:
    used = SELECTOR.findall(query)
    assert used
    names = set()
    for metric, selectors in used:
        assert metric in samples
        names |= {INSTANCE, *samples[metric]}
        for label, kind, value in re.findall(r'(\w+)(=~?)"([^"]*)"', selectors):
            if label != INSTANCE:
                assert (kind, value in samples[metric][label]) == ("=", True)
    grouped = [re.split(r",\s*", found) for found in re.findall(r"by \(([^)]*)\)", query)]
    assert {name for group in grouped for name in group} <= names


def test_every_legend_shows_labels_that_the_query_leaves(
    samples: dict[str, dict[str, set[str]]],
) -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            metric, _ = SELECTOR.findall(target["expr"])[0]
            left = re.findall(r"by \(([^)]*)\)", target["expr"])
            names = set(re.split(r",\s*", left[0])) if left else {INSTANCE, *samples[metric]}
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= names


def test_every_metric_of_ours_is_on_the_dashboard(
    samples: dict[str, dict[str, set[str]]],
) -> None:
    used = {metric for query in QUERIES.values() for metric, _ in SELECTOR.findall(query)}
    ours = {
        re.sub(r"_(bucket|count|sum)$", "", name)
        for name in samples
        if name.startswith("rankotom_") and not name.endswith("_created")
    }
    assert ours - {"rankotom_frames_total"} == {
        re.sub(r"_bucket$", "", name) for name in used if name.startswith("rankotom_")
    }


@pytest.fixture(scope="module")
def ask(sink: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Prometheus that has scraped the sink, and what it answers."""
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed")

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page(sink))

        def log_message(self, *_: object) -> None:
            pass

    served = HTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    folder = tmp_path_factory.mktemp("prometheus")
    target = f"127.0.0.1:{served.server_address[1]}"
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: rankotom\n"
        f"  static_configs: [{{targets: ['{target}']}}]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    program = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
        ],
        stderr=subprocess.DEVNULL,
    )

    def ask(query: str) -> Any:
        asked = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"http://{address}/api/v1/query?{asked}", timeout=60) as answer:
            return json.load(answer)["data"]["result"]

    def scrapes() -> int:
        try:
            found = ask("count_over_time(rankotom_frames_total[5m])")
        except OSError:
            return 0
        return int(found[0]["value"][1]) if found else 0

    try:
        ends = time.monotonic() + 120
        while scrapes() < 3:  # two for a rate
            assert time.monotonic() < ends, "it scraped nothing"
            time.sleep(0.2)
        yield ask
    finally:
        program.kill()
        program.wait()
        served.shutdown()


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_prometheus_answers_every_query_with_values(query: str, ask: Any) -> None:
    filled = query.replace("$__rate_interval", "1m").replace("$instance", ".+")
    assert ask(filled)
