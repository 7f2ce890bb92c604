"""Which connection goes when there are too many, without any network."""

from __future__ import annotations

import pytest

from rankotom_edge.views.web import connections
from rankotom_edge.views.web.connections import Client, Connections, Held, WrongTokens, network


class Crowd:
    """Opens connections and knows which of them are still open."""

    def __init__(self) -> None:
        self.connections, self.open = Connections(), dict[Client, Held]()

    def opens(self, *clients: Client) -> None:
        for client in clients:
            self.open[client] = self.connections.opened(client, lambda it=client: self.open.pop(it))

    def leaves(self, client: Client) -> None:
        self.connections.closed(self.open.pop(client))


def clients(host: str, count: int) -> list[Client]:
    return [(host, port) for port in range(count)]


def test_one_address_holds_a_few_unknown_connections_and_the_newest_of_them() -> None:
    crowd = Crowd()
    crowd.opens(*clients("10.0.0.7", 500), ("10.0.0.8", 1))
    newest = clients("10.0.0.7", 500)[-connections.UNKNOWN_OF_ONE_ADDRESS :]
    assert set(crowd.open) == {*newest, ("10.0.0.8", 1)}


def test_many_addresses_push_each_other_out_and_not_one_that_holds_a_single_connection() -> None:
    crowd = Crowd()
    crowd.opens(("10.0.0.1", 1))
    for number in range(60):
        crowd.opens(*clients(f"10.0.1.{number}", 8))
    assert len(crowd.open) == connections.UNKNOWN
    assert ("10.0.0.1", 1) in crowd.open


def test_an_admitted_connection_is_never_closed_for_others() -> None:
    crowd = Crowd()
    owner = ("10.0.0.7", 9999)
    crowd.opens(owner)
    assert crowd.connections.admit(owner, "owner")
    crowd.opens(*clients("10.0.0.7", 500))
    assert owner in crowd.open


def test_each_role_has_places_of_its_own_that_come_free_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connections.ADMITTED, "viewer", 1)
    crowd = Crowd()
    first, second = clients("10.0.0.7", 2)
    crowd.opens(first, second)
    assert crowd.connections.admit(first, "viewer")
    assert crowd.connections.admit(first, "viewer")  # its next request
    assert not crowd.connections.admit(second, "viewer")
    assert crowd.connections.admit(second, "owner")
    crowd.leaves(first)
    crowd.opens(("10.0.0.7", 3))
    assert crowd.connections.admit(("10.0.0.7", 3), "viewer")


def test_a_connection_that_was_closed_for_others_is_not_admitted() -> None:
    crowd = Crowd()
    crowd.opens(*clients("10.0.0.7", 500))
    assert not crowd.connections.admit(("10.0.0.7", 0), "owner")


def test_a_port_that_has_a_new_connection_already_is_not_the_old_one_that_ends() -> None:
    crowd = Crowd()
    client = ("10.0.0.7", 9999)
    crowd.opens(client)
    before = crowd.open[client]
    crowd.opens(client)
    crowd.connections.closed(before)
    assert crowd.connections.admit(client, "owner")


def test_nothing_is_remembered_of_connections_that_are_gone() -> None:
    crowd = Crowd()
    everybody = [*clients("10.0.0.7", 500), *clients("10.0.0.8", 20)]
    crowd.opens(*everybody)
    for client in clients("10.0.0.8", 10):
        assert crowd.connections.admit(client, "viewer")
    for client in list(crowd.open):
        crowd.leaves(client)
    held = crowd.connections
    assert not held._held
    assert not held._unknown
    assert not any(held._admitted.values())


def test_a_network_of_ipv6_is_one_address_and_ipv4_within_it_is_not() -> None:
    assert network("2001:db8::1") == network("2001:db8::ffff") != network("2001:db8:0:1::1")
    assert network("::ffff:10.0.0.7") == network("10.0.0.7") != network("10.0.0.8")
    assert network("fe80::1%2") == network("fe80::2%2")


def test_wrong_tokens_are_forgotten_after_a_while_and_the_memory_of_them_is_limited() -> None:
    wrong = WrongTokens()
    assert not any(wrong.add("10.0.0.7", now=5.0) for _ in range(connections.GUESSES))
    assert wrong.add("10.0.0.7", now=6.0)
    assert not wrong.add("10.0.0.8", now=6.0)
    assert not wrong.add("10.0.0.9", now=6.0, tokens=connections.GUESSES)  # in one request
    assert wrong.add("10.0.0.9", now=6.0)
    assert not wrong.add("10.0.0.7", now=5.1 + connections.GUESS_SECONDS)
    for number in range(5000):
        wrong.add(f"10.1.{number // 250}.{number % 250}", now=100.0)
    assert len(wrong._seen) == connections.GUESSING_ADDRESSES
