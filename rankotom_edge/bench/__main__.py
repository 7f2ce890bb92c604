"""The live loop against its limits (``make bench``), and over hours (``make soak``).

python -m rankotom_edge.bench                a 640x480 clip with one face, and the first reading
python -m rankotom_edge.bench --soak 20000   memory, threads and file handles over 20,000 frames
"""

import argparse
import subprocess
import sys
import time

from rankotom_edge.bench.loop_cost import MAX_SECONDS, WARM_UP, demo_clip, measure_loop
from rankotom_edge.bench.soak import soak
from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.model import embedded
from rankotom_edge.sources import open_source

MAX_RATIO = 1.25  # of the whole loop to its detector and classifier calls
MIN_FPS = 60
MAX_P95_MS = 40
MAX_START_SECONDS = 2


def check_limits(frames: int) -> None:
    """Prints the loop's cost on the demo clip; exits with 1 if it is over a limit."""
    with (
        demo_clip(frames + WARM_UP) as path,
        open_source(str(path)) as source,
        open_classifier(embedded.DEFAULT, "cpu") as (classifier, _),
        open_reader(classifier) as reader,
    ):
        cost = measure_loop(source, reader, frames)
    if cost is None:
        sys.exit(f"no frame within {MAX_SECONDS:.0f} s")
    p50, p95 = (cost.percentile("capture_to_reading", percent) or 0.0 for percent in (50, 95))
    print(f"{len(cost.frames)} frames of 640x480, one face, {embedded.DEFAULT}, no view")
    print(f"  whole loop / (detector + classifier)  {cost.ratio:.2f}   (at most {MAX_RATIO})")
    print(f"  frames a second                       {cost.fps:.0f}   (at least {MIN_FPS})")
    print(f"  capture to reading, p50               {p50:.1f} ms")
    print(f"  capture to reading, p95               {p95:.1f} ms   (under {MAX_P95_MS})")
    first_reading()  # fills the disk cache
    start = min(first_reading() for _ in range(3))
    print(f"  first reading, best of 3              {start:.2f} s   (under {MAX_START_SECONDS})")
    if (
        cost.ratio > MAX_RATIO
        or cost.fps < MIN_FPS
        or p95 >= MAX_P95_MS
        or start >= MAX_START_SECONDS
    ):
        sys.exit("over a limit; if other programs are running, try again on a quiet machine")


def first_reading() -> float:
    """Seconds from the start of ``rankotom-edge camera`` to its first reading."""
    command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo"]
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, "--view", "none", "--json", "-"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        found = any('"track"' in line for line in process.stdout)
        seconds = time.perf_counter() - started
        process.stdout.close()
    if not found:
        sys.exit("rankotom-edge camera ended without a reading")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m rankotom_edge.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--frames", type=int, default=600, help="frames to time (default: 600)")
    parser.add_argument("--soak", type=int, metavar="FRAMES", help="look for leaks instead")
    options = parser.parse_args()
    if options.soak is None:
        check_limits(options.frames)
    else:
        soak(options.soak)


if __name__ == "__main__":
    main()
