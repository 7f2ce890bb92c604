"""Who may hold a connection, so that no flood keeps out whoever has the token.

A connection is unknown until one of its requests was admitted. If there are too many unknown ones,
a new one closes the oldest of the address that holds the most: a request that arrives at once is
answered, and a connection that waits for nothing is not kept. Admitted ones are never closed for
others; each role has a number of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Literal

Role = Literal["owner", "viewer"]
Client = tuple[str, int]  # address and port

# All chosen by eye. Of one address so many that a flood of a thousand a second leaves the owner,
# who may come through the same tunnel, a quarter of a second to say the first word. A process may
# usually have 1,024 files open, and all that are held here leave it half of them.
UNKNOWN, UNKNOWN_OF_ONE_ADDRESS = 384, 256
ADMITTED: dict[Role, int] = {"owner": 96, "viewer": 64}
# Wrong tokens of an address in so many seconds, after which it is told to wait. Addresses beyond
# the last number push out the oldest.
GUESSES, GUESS_SECONDS, GUESSING_ADDRESSES = 10, 60.0, 1024


@dataclass(eq=False)
class Held:
    """A connection that is open."""

    client: Client
    network: str
    close: Callable[[], None]
    role: Role | None = None  # None while it is unknown


class Connections:
    def __init__(self) -> None:
        self._held: dict[Client, Held] = {}
        self._unknown: dict[str, dict[Held, None]] = {}  # of each network, the oldest first
        self._admitted: dict[Role, set[Held]] = {role: set() for role in ADMITTED}

    def opened(self, client: Client, close: Callable[[], None]) -> Held:
        held = self._held[client] = Held(client, network(client[0]), close)
        of_network = self._unknown.setdefault(held.network, {})
        of_network[held] = None
        if (
            len(of_network) > UNKNOWN_OF_ONE_ADDRESS
            or sum(map(len, self._unknown.values())) > UNKNOWN
        ):
            largest = max(self._unknown.values(), key=len)
            oldest = next(iter(largest))
            self.closed(oldest)
            oldest.close()
        return held

    def admit(self, client: Client, role: Role) -> bool:
        """Whether there is room for the connection in this role."""
        held = self._held.get(client)
        if held is None or held.role == role:
            return held is not None
        if len(self._admitted[role]) >= ADMITTED[role]:
            return False
        self._forget(held)
        held.role = role
        self._admitted[role].add(held)
        return True

    def closed(self, held: Held) -> None:
        """Does nothing the second time."""
        if self._held.get(held.client) is held:  # its port may have a new connection already
            del self._held[held.client]
        self._forget(held)

    def _forget(self, held: Held) -> None:
        if held.role is not None:
            self._admitted[held.role].discard(held)
            return
        of_network = self._unknown.get(held.network, {})
        of_network.pop(held, None)
        if not of_network:
            self._unknown.pop(held.network, None)


class WrongTokens:
    """Counts them for each address. Whoever has the right token is never counted nor refused: to
    guess 256 bits is hopeless at any rate, and nobody may lock the owner out by trying."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, int]] = {}  # since when, how many

    def add(self, host: str, now: float, tokens: int = 1) -> bool:
        """Whether there were too many."""
        name = network(host)
        since, count = self._seen.pop(name, (now, 0))
        if now - since > GUESS_SECONDS:
            since, count = now, 0
        self._seen[name] = since, count + tokens
        if len(self._seen) > GUESSING_ADDRESSES:
            del self._seen[next(iter(self._seen))]
        return count >= GUESSES


def network(host: str) -> str:
    """What counts as one address: of IPv6 a machine may use any of 2**64, of one network."""
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return host
    mapped = address.ipv4_mapped
    return str(mapped) if mapped else address.exploded[:19]
