"""Where flows lie in the switch card: keys of matches, ternary places, memories and their quarantine."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from openflow_packet import Packet
from openflow_random import packet as random_packet
from openflow_spec import matches
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Dot1Q, Ether
from switch_parser.oracle import expected

from headrace.cards.switch import flows
from headrace.cards.switch.fields import key_of
from headrace.cards.switch.flows import Match, Oxm, RefusedError
from headrace.cards.switch.layout import MATCH
from headrace.cards.switch.memory import Numbers, Places, Quarantine
from headrace.cards.switch.openflow.oxm import FIELDS, F
from headrace.cards.switch.ternary import TernaryOrder
from headrace.cards.switch.text import match_text

# ------------------------------------------------------------------------------------------------------- matches


def hits(match: Match, data: bytes, in_port: int = 1, metadata: int = 0) -> bool:
    """Whether the card finds that the packet matches."""
    found = expected(data, in_port) | {"metadata": metadata}
    word = MATCH.pack(**{name: value for name, value in found.items() if name in MATCH.members})
    key = key_of(match)
    return key is not None and word & key.mask == key.value


def test_each_field_matches_where_a_packet_has_it() -> None:
    rng = random.Random(1)
    seen = set()
    for _ in range(120):
        data = random_packet(rng)
        has = Packet.read(data).fields() | {0: 3, 1: 3, 2: 0x1234}
        for number, value in has.items():
            seen.add(number)
            bit = 1 << rng.randrange(FIELDS[F(number)].bits if number > 1 else 8)
            needed = [Oxm(field, has[field]) for field in (5, 10, 29) if field in has and field != number]
            for oxm in (Oxm(number, value), Oxm(number, value ^ bit), Oxm(number, value & ~bit, ~bit & 0xFF)):
                wanted = (*needed, oxm)
                assert hits(wanted, data, 3, 0x1234) == matches(wanted, has), match_text(wanted)
    assert seen >= set(FIELDS) - {19, 20, 39}


@pytest.mark.parametrize(
    ("oxm", "tagged", "untagged"),
    [
        (Oxm(6, 0), False, True),
        (Oxm(6, 0x1000, 0x1000), True, False),
        (Oxm(6, 0x1005), True, False),
        (Oxm(6, 0x1004), False, False),
        (Oxm(6, 0x1001, 0x1001), True, False),
        (Oxm(6, 0, 0), True, True),
        (Oxm(6, 0x0005, 0x0FFF), True, False),
    ],
)
def test_a_tag_is_there_is_not_or_does_not_matter(oxm: Oxm, tagged: bool, untagged: bool) -> None:
    plain = Ether() / IP() / TCP()
    assert hits((oxm,), bytes(Ether() / Dot1Q(vlan=5) / IP() / TCP())) is tagged
    assert hits((oxm,), bytes(plain)) is untagged


def test_a_field_of_a_header_that_is_cut_off_matches_nothing() -> None:
    whole = bytes(Ether() / IP(src="0.0.0.0", dst="0.0.0.0") / TCP(sport=0, dport=0))
    network, transport = (Oxm(5, 0x800), Oxm(11, 0)), (Oxm(5, 0x800), Oxm(10, 6), Oxm(13, 0))
    assert hits(network, whole) and hits(transport, whole)
    assert hits(network, whole[:40]) and not hits(transport, whole[:40])
    assert not hits(network, whole[:30]) and hits(network[:1], whole[:30])
    assert hits((Oxm(5, 0x800), Oxm(11, 0, 0)), whole[:30])


def test_a_match_that_no_packet_has_has_no_key() -> None:
    assert key_of((Oxm(0, 1), Oxm(1, 2))) is None
    assert key_of((Oxm(0, flows.LOCAL),)) is None
    assert key_of((Oxm(0, flows.CONTROLLER),)) == key_of((Oxm(0, 255),))
    with pytest.raises(RefusedError) as error:
        key_of((Oxm(37, 1),))
    assert (error.value.kind, error.value.code) == (4, 6)


def test_a_match_reads_as_users_write_it() -> None:
    wanted = (Oxm(0, 2), Oxm(3, 0x3333 << 32, 0xFFFF << 32), Oxm(5, 0x86DD), Oxm(26, 1 << 64), Oxm(6, 0x1005))
    assert match_text(wanted) == (
        "in_port=2,eth_dst=33:33:00:00:00:00/ff:ff:00:00:00:00,eth_type=0x86dd,ipv6_src=0:0:0:1::,vlan_vid=0x1005"
    )
    assert match_text(()) == "any"


# ------------------------------------------------------------------------------------------------- ternary places


def test_ternary_places_are_in_the_order_of_priorities() -> None:
    rng = random.Random(1)
    for size in (1, 2, 7, 64):
        order: TernaryOrder[int] = TernaryOrder(size)
        place_of: dict[int, int] = {}
        priority_of: dict[int, int] = {}
        for thing in range(2000):
            if place_of and rng.random() < (0.9 if len(place_of) == size else 0.4):
                gone = rng.choice(list(place_of))
                order.remove(place_of.pop(gone))
                continue
            priority = rng.randrange(rng.choice((2, 5, 1000)))
            found = order.insert(priority, thing)
            if found is None:
                assert len(place_of) == size
                continue
            place, moves = found
            for moved, new, old in moves:
                assert place_of[moved] == old and new not in place_of.values() and 0 <= new < size
                place_of[moved] = new
                ranks = [priority_of[other] for other in sorted(place_of, key=place_of.__getitem__)]
                assert ranks == sorted(ranks, reverse=True)
            assert len(moves) <= len({priority_of[other] for other in place_of})
            assert place not in place_of.values() and 0 <= place < size
            place_of[thing], priority_of[thing] = place, priority
            ranks = [priority_of[other] for other in sorted(place_of, key=place_of.__getitem__)]
            assert ranks == sorted(ranks, reverse=True)
        assert len(order) == len(place_of)


def test_equal_priorities_take_one_move_and_room_none() -> None:
    order: TernaryOrder[int] = TernaryOrder(100)
    moves = [len(order.insert(5, thing)[1]) for thing in range(60)]  # type: ignore[index]
    assert not any(moves)
    order.insert(9, 60)
    for thing in range(38):
        found = order.insert(7, 61 + thing)
        assert found is not None and len(found[1]) <= 2


# ----------------------------------------------------------------------------------------------------- memories


def test_runs_of_places_do_not_overlap_and_grow_together_again() -> None:
    rng = random.Random(2)
    places = Places(200)
    taken: dict[int, int] = {}
    for _ in range(3000):
        if taken and rng.random() < 0.5:
            start = rng.choice(list(taken))
            places.free(start, taken.pop(start))
            continue
        length = rng.randrange(1, 9)
        found = places.take(length)
        used = {place for start, size in taken.items() for place in range(start, start + size)}
        if found is None:
            assert len(used) > 100
            continue
        new = set(range(found, found + length))
        assert not new & used and min(new) >= 1 and max(new) <= 200
        taken[found] = length
    for start, size in taken.items():
        places.free(start, size)
    assert places.take(200) == 1
    assert places.take(1) is None
    assert Places(0).take(1) is None


def test_numbers_are_given_once() -> None:
    numbers = Numbers(3, 6)
    assert sorted(number for number in iter(numbers.take, None)) == [3, 4, 5, 6]
    numbers.free(5)
    assert (numbers.take(), numbers.take()) == (5, None)


def test_what_packets_inside_may_point_to_waits_until_they_have_left() -> None:
    now = {"entered": 0xFFFF_FFFE, "left": 0xFFFF_FFFC}
    said: list[str] = []

    def say(what: str) -> Callable[[], None]:
        return lambda: said.append(what)

    quarantine = Quarantine(lambda: now["entered"], lambda: now["left"], say("settled"))
    assert not quarantine and not quarantine.sweep()
    quarantine.put(say("first"))
    now["entered"] = 3
    quarantine.put(say("second"))
    assert not quarantine.sweep()
    now["left"] = 0xFFFF_FFFE
    assert quarantine.sweep() and said == ["settled", "first"]
    now["left"] = 2
    assert not quarantine.sweep() and quarantine
    now["left"] = 4
    assert quarantine.sweep() and said[2:] == ["settled", "second"]
    assert not quarantine
