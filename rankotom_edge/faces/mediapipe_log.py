"""Keeps MediaPipe's words about itself off the terminal, and nothing else."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2
# What MediaPipe 0.10.14 says whenever a detector starts. No setting silences it: it is written
# before its own logging is set up.
CHATTER = (
    b"Created TensorFlow Lite XNNPACK delegate",
    b"All log messages before absl::InitializeLog() is called",
    b"Feedback manager requires a model with a single signature",
    b"gl_context_egl.cc:",  # and these two where there is a screen
    b"gl_context.cc:",
)


@contextmanager
def without_chatter() -> Iterator[None]:
    """Standard error is held back for the time being; afterwards all but the chatter is written."""
    try:
        held, terminal = os.memfd_create("stderr"), os.dup(STDERR)
    except (AttributeError, OSError):  # not Linux, or standard error is closed
        yield
        return
    try:
        sys.stderr.flush()
        os.dup2(held, STDERR)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, STDERR)
        os.close(terminal)
        with os.fdopen(held, "rb") as said:
            said.seek(0)
            for line in said:
                if not any(known in line for known in CHATTER):
                    os.write(STDERR, line)
