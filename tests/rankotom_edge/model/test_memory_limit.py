"""Memory that a process may take on."""

import resource
import sys

import numpy as np
import pytest

from rankotom_edge.model.memory_limit import limit_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has such a limit")
MEGABYTE = 1024**2


def test_more_than_the_limit_is_refused_and_less_is_not() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limit_memory(100 * MEGABYTE):
        assert np.ones(50 * MEGABYTE, np.uint8).all()
        with pytest.raises(MemoryError):
            np.ones(500 * MEGABYTE, np.uint8)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert np.ones(200 * MEGABYTE, np.uint8).all()


def test_the_limit_ends_with_an_error_too() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(ZeroDivisionError), limit_memory(100 * MEGABYTE):
        _ = 1 / 0
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
