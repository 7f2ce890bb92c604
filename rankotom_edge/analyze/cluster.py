"""Videos read by the workers of a Dask cluster, which has them under the same paths."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence

from distributed import Client, Future, as_completed
from distributed.comm.addressing import get_address_host_port

from calib.errors import RankotomError
from rankotom_edge import __version__, interrupts
from rankotom_edge.analyze.read_video import Failure, Outcome, Task, attempt

CONNECT_SECONDS = 10
RETRIES = 2  # where the machinery fails; a video that cannot be read is an answer


def read_on_cluster(tasks: Sequence[Task], address: str) -> Iterator[tuple[Task, Outcome]]:
    """Dask gives the videos of a worker that dies to others."""
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are told below
    try:
        get_address_host_port(address)  # a client that never started prints a traceback at the end
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RankotomError(
            f"No Dask scheduler answers at {address} ({reason}). Start one with: dask scheduler"
        ) from error
    with client:
        _check_workers(client, address)
        futures: dict[Future[Outcome], Task] = {
            client.submit(attempt, task, pure=False, retries=RETRIES): task for task in tasks
        }
        for future in as_completed(list(futures), loop=client.loop):
            interrupts.check()
            if future.cancelled():
                raise RankotomError(
                    f"The Dask scheduler at {address} is gone. Finished videos are kept: start it "
                    "again, and the same command goes on."
                )
            yield futures.pop(future), _outcome(future)
            future.release()  # so that its worker forgets the table


def _outcome(future: Future[Outcome]) -> Outcome:
    if future.status != "finished":
        return Failure(f"the cluster gave up: {future.exception()!s:.300}")
    outcome: Outcome = future.result()
    return outcome


def _check_workers(client: Client, address: str) -> None:
    """A cluster may have no worker yet, and get some when there is work."""
    try:
        versions = set(client.run(_version).values())
    except Exception as error:
        raise RankotomError(
            f"The workers at {address} cannot import rankotom-edge ({error!s:.200}). Install "
            f"rankotom-edge {__version__} on each of them."
        ) from error
    if not versions:
        print(f"note: the cluster at {address} has no worker yet; waiting for one", file=sys.stderr)
    if versions - {__version__}:
        raise RankotomError(
            f"The workers at {address} have rankotom-edge {', '.join(sorted(versions))}, and this "
            f"is {__version__}. Install the same version everywhere."
        )


def _version() -> str:
    return __version__
