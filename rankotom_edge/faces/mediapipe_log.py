"""Hides the messages that MediaPipe prints when it starts, and nothing else."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2
# What MediaPipe 0.10.14 prints whenever a detector starts. No setting silences it: it prints before
# its logging is set up.
STARTUP_MESSAGES = (
    b"Created TensorFlow Lite XNNPACK delegate",
    b"All log messages before absl::InitializeLog() is called",
    b"Feedback manager requires a model with a single signature",
    b"gl_context_egl.cc:",  # and these two where there is a screen
    b"gl_context.cc:",
)


@contextmanager
def hide_startup_messages() -> Iterator[None]:
    """Holds standard error back inside the block, then writes all but the startup messages."""
    if sys.platform != "linux":
        yield
        return
    try:
        held, terminal = os.memfd_create("stderr"), os.dup(STDERR)
    except OSError:  # standard error is closed
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
        with os.fdopen(held, "rb") as lines:
            lines.seek(0)
            for line in lines:
                if not any(known in line for known in STARTUP_MESSAGES):
                    os.write(STDERR, line)
