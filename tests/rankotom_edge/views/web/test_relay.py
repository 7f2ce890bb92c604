"""The loop puts a display and goes on; a client gets the newest."""

import asyncio
import threading
import time
import weakref
from typing import Any

from rankotom_edge.views.web.relay import Relay


def test_a_client_gets_the_newest_and_not_what_it_missed(showing: Any) -> None:
    relay = Relay()
    frames = [showing.frame_readings() for _ in range(5)]
    for latest in frames:
        relay.put(showing.display(latest), 1.0)
    shown = asyncio.run(relay.wait_for_newer(0, 1.0))
    assert shown is not None
    assert shown.display.latest is frames[-1]
    assert shown.number == 5


def test_what_was_replaced_is_not_kept(showing: Any) -> None:
    relay = Relay()
    latest = showing.frame_readings()
    gone = weakref.ref(latest)
    relay.put(showing.display(latest), 1.0)
    del latest
    assert gone() is not None
    relay.put(showing.display(showing.frame_readings()), 2.0)
    assert gone() is None


def test_a_waiting_client_is_woken_from_the_loops_thread(showing: Any) -> None:
    relay = Relay()

    async def read() -> float:
        began = time.monotonic()
        giver = threading.Timer(0.1, relay.put, (showing.display(None), 1.0))
        giver.start()
        shown = await relay.wait_for_newer(0, 20.0)
        giver.join()
        assert shown is not None
        return time.monotonic() - began

    assert asyncio.run(read()) < 10


def test_a_client_that_gets_nothing_new_gets_the_same_again(showing: Any) -> None:
    relay = Relay()
    assert asyncio.run(relay.wait_for_newer(0, 0.01)) is None
    relay.put(showing.display(None), 1.0)
    shown = asyncio.run(relay.wait_for_newer(1, 0.01))
    assert shown is relay.newest


def test_to_put_after_the_server_has_ended_is_no_error(showing: Any) -> None:
    relay = Relay()

    async def leave_while_waiting() -> None:
        task = asyncio.create_task(relay.wait_for_newer(0, 20.0))
        await asyncio.sleep(0.01)
        relay._waiting.add(asyncio.get_running_loop().create_future())
        task.cancel()

    asyncio.run(leave_while_waiting())
    relay.put(showing.display(None), 1.0)


def test_it_knows_when_the_frame_was_new(showing: Any) -> None:
    relay = Relay()
    relay.put(showing.display(None), 1.0)
    assert relay.newest is not None
    assert relay.newest.frame_at is None
    latest = showing.frame_readings()
    relay.put(showing.display(latest), 2.0)
    relay.put(showing.display(latest), 3.0)
    assert (relay.newest.frame_at, relay.newest.shown_at) == (2.0, 3.0)
