"""Who may hold a connection, so that no flood keeps out whoever has the token.

A connection is unknown until one of its requests was admitted. If there are too many unknown ones,
a new one closes the oldest of the address that holds the most: a request that arrives at once is
answered, and a connection that waits for nothing is not kept. Admitted ones are never closed for
others; each role has a number of its own.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Literal

Role = Literal["owner", "viewer"]
Client = tuple[str, int]  # address and port

# All chosen by eye. A browser opens about six at once.
UNKNOWN, UNKNOWN_OF_ONE_ADDRESS = 64, 16
ADMITTED: dict[Role, int] = {"owner": 96, "viewer": 64}
# Wrong tokens of an address in so many seconds, after which it is told to wait. Addresses beyond
# the last number push out the oldest.
GUESSES, GUESS_SECONDS, GUESSING_ADDRESSES = 10, 60.0, 1024


@dataclass(eq=False)
class _Connection:
    network: str
    is_open: Callable[[], bool]
    close: Callable[[], None]
    role: Role | None = None  # None while it is unknown


class Connections:
    def __init__(self) -> None:
        self._held: dict[Client, _Connection] = {}  # the oldest first

    def opened(
        self, client: Client, is_open: Callable[[], bool], close: Callable[[], None]
    ) -> None:
        self._held = {who: each for who, each in self._held.items() if each.is_open()}
        self._held[client] = _Connection(network(client[0]), is_open, close)
        unknown = {who: each for who, each in self._held.items() if each.role is None}
        ((largest, count),) = Counter(each.network for each in unknown.values()).most_common(1)
        if len(unknown) > UNKNOWN or count > UNKNOWN_OF_ONE_ADDRESS:
            oldest = next(who for who, each in unknown.items() if each.network == largest)
            self._held.pop(oldest).close()

    def admit(self, client: Client, role: Role) -> bool:
        """Whether there is room for the connection in this role."""
        connection = self._held.get(client)
        if connection is None or connection.role == role:
            return connection is not None
        taken = sum(each.role == role and each.is_open() for each in self._held.values())
        if taken >= ADMITTED[role]:
            return False
        connection.role = role
        return True


class WrongTokens:
    """Counts them for each address. Whoever has the right token is never counted nor refused: to
    guess 256 bits is hopeless at any rate, and nobody may lock the owner out by trying."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, int]] = {}  # since when, how many

    def add(self, host: str, now: float) -> bool:
        """Whether there were too many."""
        name = network(host)
        since, count = self._seen.pop(name, (now, 0))
        if now - since > GUESS_SECONDS:
            since, count = now, 0
        self._seen[name] = since, count + 1
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
