"""How ``rankotom-edge`` starts and ends."""

import signal
import subprocess
import sys
import time

import pytest

from rankotom_edge import __version__


def test_the_package_can_be_run_as_a_module() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "rankotom_edge", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == f"rankotom-edge {__version__}\n"


@pytest.mark.parametrize("status", [0, 2, 130])
def test_an_interrupt_at_the_end_exits_at_once_and_in_silence(status: int) -> None:
    """A thread is still waiting for its camera."""
    program = f"""
import sys, threading, time
from rankotom_edge.cli import app as cli
from rankotom_edge.__main__ import main
threading.Thread(target=time.sleep, args=(30,)).start()
def ended(**options):
    print("closed", flush=True)
    sys.exit({status})
cli.app = ended
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "closed\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    assert (process.returncode, said) == (status, "")
