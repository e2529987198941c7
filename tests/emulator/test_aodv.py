"""The routing of the nodes' own processes, without processes: instances in a simulated network, held against a search
in breadth."""

from __future__ import annotations

import random
from collections import deque

import pytest

from headrace.emulator.processes.aodv import Error, Message, Reply, Request, Router, decode, encode, newer
from headrace.emulator.processes.wire import Malformed
from headrace.emulator.wiring import next_hops


class Net:
    """Routers and links; messages come in any order between links, in order on each."""

    def __init__(self, nodes: int, links: set[tuple[int, int]], seed: int) -> None:
        self.random, self.now = random.Random(seed), 0.0
        self.routers = {node: Router(node) for node in range(1, nodes + 1)}
        self.links: set[tuple[int, int]] = set()
        self.flying: dict[tuple[int, int], deque[Message]] = {}
        for a, b in sorted(links):
            self.join(a, b)

    def join(self, a: int, b: int) -> None:
        self.links.add((a, b))
        for here, there in ((a, b), (b, a)):
            self.flying[here, there] = deque()
            self.routers[here].link_up(there, self.now)

    def part(self, a: int, b: int) -> None:
        self.links.discard((a, b))
        for here, there in ((a, b), (b, a)):
            del self.flying[here, there]
        for here, there in ((a, b), (b, a)):
            self.routers[here].link_down(there, self.now)

    def settle(self) -> None:
        """Until no message is under way."""
        while True:
            for node, router in self.routers.items():
                for to, message in router.take():
                    if (node, to) in self.flying:
                        kind = type(message)
                        assert decode(kind, encode(message)) == message
                        self.flying[node, to].append(message)
            ways = sorted(way for way, waiting in self.flying.items() if waiting)
            if not ways:
                return
            here, there = self.random.choice(ways)
            self.routers[there].hear(here, self.flying[here, there].popleft(), self.now)
            self.look(there)

    def look(self, node: int) -> None:
        """Fails where a way goes round that leads over a node, whose routes may be others now."""
        for to in self.routers[node].routes:
            here, seen = node, {to}
            while here not in seen and (route := self.routers[here].routes.get(to)) is not None and route.valid:
                seen.add(here)
                here = route.next_hop
            assert here == to or here not in seen, f"the way from {node} to {to} goes round"

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.5)):
            self.now += 0.5
            for router in self.routers.values():
                router.tick(self.now)
            self.settle()

    def way(self, source: int, to: int) -> list[int] | None:
        """The nodes on the way that tables give; None: there is none. Fails where it goes round."""
        way = [source]
        while way[-1] != to:
            hop = self.routers[way[-1]].table().get(to)
            if hop is None:
                return None
            assert hop not in way, f"the way from {source} to {to} goes round: {way}, {hop}"
            assert (min(way[-1], hop), max(way[-1], hop)) in self.links
            way.append(hop)
        return way

    def hops(self, source: int, to: int) -> int | None:
        """By a search in breadth."""
        tables = next_hops(len(self.routers), [(a - 1, b - 1) for a, b in self.links])
        count, here = 0, source - 1
        while here != to - 1:
            if to - 1 not in tables[here]:
                return None
            count, here = count + 1, tables[here][to - 1]
        return count


def some_net(seed: int, nodes: int = 16, links: int = 26) -> Net:
    rng = random.Random(seed)
    pairs = [(a, b) for a in range(1, nodes + 1) for b in range(a + 1, nodes + 1)]
    return Net(nodes, set(rng.sample(pairs, links)), seed)


@pytest.mark.parametrize("seed", range(8))
def test_routes_have_the_fewest_hops_there_and_back(seed: int) -> None:
    net = some_net(seed)
    for _ in range(12):
        source, to = net.random.sample(sorted(net.routers), 2)
        for ends in ((source, to), (to, source)):
            net.routers[ends[0]].want(ends[1], net.now)
            net.settle()
        hops = net.hops(source, to)
        for ends in ((source, to), (to, source)):
            way = net.way(*ends)
            assert (None if way is None else len(way) - 1) == hops, ends


@pytest.mark.parametrize("seed", range(8))
def test_routes_are_repaired_and_never_go_round_while_links_come_and_go(seed: int) -> None:
    net = some_net(seed)
    wanted = [tuple(net.random.sample(sorted(net.routers), 2)) for _ in range(6)]
    for _ in range(12):
        if net.random.random() < 0.5:
            net.part(*net.random.choice(sorted(net.links)))
        else:
            pairs = [(a, b) for a in net.routers for b in net.routers if a < b and (a, b) not in net.links]
            net.join(*net.random.choice(pairs))
        for source, to in wanted:
            net.routers[source].want(to, net.now)
        net.settle()
        for source, to in wanted:
            net.way(source, to)  # fails where it goes round
        for _ in range(5):
            net.wait(8)
            for source, to in wanted:
                net.routers[source].want(to, net.now)
            net.settle()
        for source, to in wanted:
            way = net.way(source, to)
            assert (way is None) == (net.hops(source, to) is None), (source, to)


def test_who_uses_a_route_is_told_of_its_loss() -> None:
    net = Net(4, {(1, 2), (2, 3), (3, 4)}, 0)
    net.routers[1].want(4, net.now)
    net.settle()
    assert net.way(1, 4) == [1, 2, 3, 4]
    net.part(3, 4)
    net.settle()
    assert 4 not in net.routers[1].table() and 4 not in net.routers[2].table()
    net.join(2, 4)
    net.wait(3)
    assert net.way(1, 4) == [1, 2, 4]


def test_who_sends_over_a_route_that_has_gone_is_told() -> None:
    net = Net(4, {(1, 2), (2, 3), (3, 4)}, 0)
    net.routers[1].want(4, net.now)
    net.settle()
    net.routers[2].routes[4].valid = False
    net.routers[2].no_route(4, 1)
    net.settle()
    assert net.way(1, 4) == [1, 2, 3, 4]  # it has asked again
    assert net.routers[1].counts["lost_routes"] == 1


def test_an_announcement_gives_all_a_route() -> None:
    net = some_net(3)
    net.routers[5].announce(net.now)
    net.settle()
    for node in net.routers:
        way = net.way(node, 5)
        assert (None if way is None else len(way) - 1) == net.hops(node, 5)


def test_unused_routes_are_forgotten_and_used_ones_asked_for_again() -> None:
    net = Net(3, {(1, 2), (2, 3)}, 0)
    net.routers[1].want(3, net.now)
    net.settle()
    for _ in range(12):
        net.wait(5)
        net.routers[1].want(3, net.now)
    assert net.way(1, 3) == [1, 2, 3]
    net.wait(45)
    assert net.way(1, 3) is None


def test_what_comes_without_a_link_is_not_heard() -> None:
    router = Router(1)
    router.hear(2, Reply(3, 1, 1, 0), 0.0)
    assert router.table() == {}


def test_sequence_numbers_go_round() -> None:
    assert newer(1, 0) and not newer(0, 1) and not newer(7, 7)
    assert newer(2, 0xFFFFFFFE) and not newer(0xFFFFFFFE, 2)


@pytest.mark.parametrize("kind", [Request, Reply, Error])
def test_what_is_no_message_is_refused(kind: type[Message]) -> None:
    with pytest.raises(Malformed):
        decode(kind, b"12345")
