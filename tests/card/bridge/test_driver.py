"""The driver of the bridge against a card of registers and queues in Python."""

from __future__ import annotations

import random

import pytest
from fake_bridge import FakeCard

from headrace.cards.bridge.driver import EXPRESS, H2S, S2H, BridgeDriver
from headrace.cards.bridge.formats import Address, Header, Packet
from headrace.cards.bridge.receive import Batch, ReceiveSettings
from headrace.cards.bridge.tables import PORTS, SOFTWARE, slot_address
from headrace.errors import HeadraceError

TO_SOFTWARE = Header(SOFTWARE, 1, 2)


def frames(count: int, seed: int = 1, least: int = 1, most: int = 1514) -> list[bytes]:
    rng = random.Random(seed)
    return [rng.randbytes(rng.randint(least, most)) for _ in range(count)]


def ready(card: FakeCard, header: Header = TO_SOFTWARE, **settings: object) -> BridgeDriver:
    """A driver of a card whose port 0 sends everything with this header."""
    driver = card.driver()
    driver.start()
    if settings:
        driver.h2s.configure(**settings)
    driver.setup_port(0)
    driver.classify(0, 0, 0, 0, header)
    return driver


def collect(card: FakeCard, driver: BridgeDriver, rounds: int = 20_000) -> list[Batch]:
    """All batches until nothing moves any more; the last one is flushed."""
    batches: list[Batch] = []
    for _ in range(rounds):
        card.step()
        batches += driver.receive()
        if card.idle and not any(card.mailbox.values()):
            if not card.open:
                return batches
            driver.h2s.flush()
    raise AssertionError("packets stay in the card")


def payloads(batches: list[Batch]) -> list[bytes]:
    return [packet.payload for batch in batches for packet in batch.packets]


def test_another_card_is_refused() -> None:
    card = FakeCard()
    card._value = lambda _: 0x4350_0001  # type: ignore[method-assign]
    with pytest.raises(HeadraceError, match="no bridge of version 1: 0x4350, version 1 is there"):
        card.driver()


def test_frames_come_to_software_in_batches() -> None:
    card = FakeCard()
    driver = ready(card)
    wanted = frames(500)
    card.arriving[0].extend(wanted)
    batches = collect(card, driver)
    assert payloads(batches) == wanted
    assert all(packet.header == TO_SOFTWARE for packet in batches[0].packets)
    assert 65536 - 1600 < batches[0].bytes <= 65536
    assert driver.counters().missing() == 0
    assert driver.counters().h2s.closed_by == {"full": 6, "timeout": 0, "critical": 0, "single": 0, "flush": 1}


def test_settings_change_while_traffic_runs() -> None:
    card = FakeCard(seed=3)
    driver = ready(card, wait_for_room=True)
    wanted = frames(1500, seed=3)
    card.arriving[0].extend(wanted)
    rng = random.Random(4)
    batches: list[Batch] = []
    for _ in range(1000):
        for _ in range(rng.randrange(20)):
            card.step()
        driver.h2s.configure(
            buffer_bytes=rng.randint(2048, 65536), timeout_ns=rng.choice((0, 2000, 10**7)), single=rng.random() < 0.2
        )
        batches += driver.receive()
    assert payloads(batches + collect(card, driver)) == wanted
    assert driver.counters().missing() == 0


def test_single_packets() -> None:
    card = FakeCard()
    driver = ready(card, single=True, wait_for_room=True)
    card.arriving[0].extend(frames(20))
    batches = collect(card, driver)
    assert [len(batch.packets) for batch in batches] == [1] * 20


def test_latency_critical_packets_take_the_express_lane() -> None:
    card = FakeCard()
    driver = ready(card, express=True)
    driver.setup_port(1)
    driver.classify(1, 0, 0, 0, TO_SOFTWARE._replace(critical=True))
    bulk, critical = frames(200), frames(30, seed=9)
    card.arriving[0].extend(bulk)
    card.arriving[1].extend(critical)
    batches = collect(card, driver)
    assert payloads([batch for batch in batches if batch.lane == "express"]) == critical
    assert payloads([batch for batch in batches if batch.lane == "bulk"]) == bulk
    assert driver.counters().h2s.express_packets == 30


def test_software_that_stops_reading_costs_packets_not_the_card() -> None:
    card = FakeCard()
    driver = ready(card)
    card.arriving[0].extend(frames(2000))
    for _ in range(20_000):
        card.step()
    counters = driver.counters()
    assert counters.h2s.no_room > 0 and card.idle is False
    batches = collect(card, driver)
    assert len(payloads(batches)) == 2000 - driver.counters().h2s.no_room
    assert driver.counters().missing() == 0


def test_a_buffer_that_is_too_small_is_replaced() -> None:
    card = FakeCard()
    driver = card.driver()
    driver.h2s.start(ReceiveSettings(), buffer_bytes=4096)
    driver.setup_port(0)
    driver.classify(0, 0, 0, 0, TO_SOFTWARE)
    wanted = frames(300)
    card.arriving[0].extend(wanted)
    assert payloads(collect(card, driver)) == wanted
    assert driver.h2s.refused == driver.counters().h2s.refused > 0


def test_memory_that_cannot_be_written_costs_its_batch() -> None:
    card = FakeCard()
    driver = ready(card)
    card.broken.add(driver.h2s._buffers["bulk", 0].address)
    card.arriving[0].extend(frames(300))
    batches = collect(card, driver)
    errors = [batch.error for batch in batches if batch.error]
    assert errors and set(errors) == {"the card could not write into the host buffer"}
    lost = driver.counters().h2s.write_errors
    assert lost > 0 and len(payloads(batches)) == 300 - lost
    assert driver.counters().missing() == 0


def test_a_batch_that_lies_is_told_and_dropped_whole() -> None:
    card = FakeCard()
    driver = ready(card)
    card.lie = lambda data: b"\xff\xff" + data[2:]
    card.arriving[0].extend(frames(10))
    (batch,) = collect(card, driver)
    assert batch.packets == [] and batch.error is not None and "go too far" in batch.error
    assert driver.h2s.lost == 10 and driver.counters().missing() == 0


def test_draining_ends_when_software_has_all_that_was_there() -> None:
    card = FakeCard()
    driver = ready(card)
    card.arriving[0].extend(frames(10))
    while card.count.get("h2s.packets", 0) < 10:
        card.step()
    got: list[Batch] = []
    for _ in driver.draining():
        card.step()
        got += driver.receive()
    assert len(payloads(got)) == 10


# Software to hardware


def packets(wanted: list[bytes], port: int = 1) -> list[Packet]:
    return [Packet(data, Header(PORTS[port], 5, 6, egress=True)) for data in wanted]


def finish(card: FakeCard, driver: BridgeDriver) -> None:
    driver.s2h.flush()
    while driver.s2h.backlog or not card.idle:
        card.step()
        driver.s2h.poll()


def test_packets_are_sent_in_order_with_several_buffers_on_their_way() -> None:
    card = FakeCard(speed=1)
    driver = ready(card)
    wanted = frames(800)
    most = 0
    for start in range(0, 800, 40):
        driver.send(packets(wanted[start : start + 40]))
        most = max(most, len(driver.s2h._posted))
    finish(card, driver)
    assert card.sent[1] == wanted
    assert most == 4
    assert (driver.s2h.packets, driver.s2h.failed, driver.s2h.errors) == (800, 0, [])
    assert driver.counters().missing() == 0


def test_a_batch_has_the_size_chosen() -> None:
    card = FakeCard()
    driver = ready(card)
    driver.s2h.configure(buffer_bytes=2048)
    driver.send(packets([bytes(100)] * 100))
    finish(card, driver)
    assert driver.s2h.batches == -(-100 // ((2048 - 4) // 112))


def test_an_open_batch_goes_when_its_time_is_over() -> None:
    card = FakeCard()
    driver = ready(card)
    driver.s2h.configure(timeout_ns=5000)
    begin = card.time_ns
    driver.send(packets([b"x" * 60]))
    assert driver.s2h.batches == 0 and begin < (driver.s2h.deadline_ns or 0) <= card.time_ns + 5000
    while driver.s2h.batches == 0:
        card.step()
        driver.s2h.poll()
    assert 5000 <= card.time_ns - begin < 6000


def test_single_packets_to_hardware() -> None:
    card = FakeCard()
    driver = ready(card)
    driver.s2h.configure(single=True)
    driver.send(packets(frames(9)))
    finish(card, driver)
    assert driver.s2h.batches == driver.s2h.completed == 9


def test_a_buffer_that_cannot_be_read_is_reported() -> None:
    card = FakeCard()
    driver = ready(card)
    card.broken |= set(card.memory)
    driver.send(packets(frames(3)))
    finish(card, driver)
    assert driver.s2h.errors == ["a buffer could not be read: 0 of 3 packets were sent"]
    assert driver.s2h.failed == 3 and driver.counters().s2h.read_errors == 1


def test_a_buffer_that_the_card_never_got_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else has filled the card's places with posts."""
    card = FakeCard()
    driver = ready(card)
    driver.s2h.configure(single=True)
    with monkeypatch.context() as full:
        full.setattr("fake_bridge.HOST_BUFFERS", 0)
        driver.send(packets(frames(1)))
    assert driver.counters().complaints == [
        "1 host buffers were posted where the card had no place for them: software to hardware"
    ]
    driver.send(packets(frames(2)))
    finish(card, driver)
    assert driver.s2h.errors == ["a buffer was lost on its way to the card: 0 of 1 packets were sent"]
    assert (driver.s2h.failed, driver.s2h.packets, driver.s2h.completed) == (1, 2, 3)


def test_a_count_that_lies_is_reported() -> None:
    card = FakeCard()
    driver = ready(card)
    driver.s2h.send(packets(frames(3)))
    driver.s2h.flush()
    driver.s2h._closed[0][1] = b"\0" * 12  # a length of 0
    finish(card, driver)
    assert driver.s2h.errors == ["a buffer is malformed: 1 of 3 packets were sent"]


def test_a_packet_that_nobody_can_take_is_counted() -> None:
    card = FakeCard()
    driver = ready(card)
    driver.send([Packet(b"lost", Header(Address(9, 1)))])
    finish(card, driver)
    assert driver.counters().no_block == 1 and driver.counters().missing() == 0


# Tables, grace periods, interrupts


def test_the_first_entry_that_matches_counts() -> None:
    card = FakeCard()
    driver = ready(card, TO_SOFTWARE._replace(destination=1))
    driver.classify(0, 0, 0x88B5_0000, 0xFFFF_0000, TO_SOFTWARE._replace(destination=7))
    driver.classify(0, 3, 0, 0, TO_SOFTWARE._replace(destination=8))
    card.arriving[0].extend([bytes(12) + b"\x88\xb5\1\2", bytes(60), bytes(5)])
    (batch,) = collect(card, driver)
    assert [packet.header.destination for packet in batch.packets] == [7, 8, 8]


def test_an_emptied_entry_matches_nothing() -> None:
    card = FakeCard()
    driver = ready(card)
    driver.classify(0, 0, 0, 0, None)
    assert driver.tables.entry(PORTS[0], 0) is None
    card.arriving[0].extend(frames(4))
    assert collect(card, driver) == []
    assert driver.counters().dropped == {"port 0 unknown": 4} and driver.counters().missing() == 0


def test_wrong_settings_are_refused() -> None:
    driver = ready(FakeCard())
    for wrong in (
        lambda: driver.h2s.configure(buffer_bytes=1000),
        lambda: driver.h2s.configure(buffer_bytes=65537),
        lambda: driver.h2s.configure(timeout_ns=-1),
        lambda: driver.s2h.configure(buffer_bytes=100),
        lambda: driver.classify(0, 8, 0, 0, TO_SOFTWARE),
        lambda: driver.classify(0, 0, 1 << 32, 0, TO_SOFTWARE),
        lambda: driver.setup_slot(4),
        lambda: driver.h2s.configure(wait_limit_ns=1 << 32),
        lambda: FakeCard().driver(host_buffers=1),
        lambda: FakeCard().driver(host_buffers=17),
    ):
        with pytest.raises(HeadraceError, match="must|has 4"):
            wrong()


def test_after_a_grace_period_every_packet_is_where_it_was_sent() -> None:
    card = FakeCard(seed=5, speed=1)
    driver = ready(card, Header(slot_address(0), 1, 2))
    driver.setup_slot(0, hold=True)
    card.arriving[0].extend(bytes([n]) for n in range(60))
    for _ in range(150):
        card.step()
    driver.classify(0, 0, 0, 0, Header(slot_address(2), 1, 2))
    driver.settle()
    before = card.count["slot[0].received"]
    while not card.idle and card.arriving[0]:
        card.step()
    assert 0 < before < 60 and card.count["slot[0].received"] == before


def test_a_grace_period_that_never_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard()
    driver = ready(card)
    monkeypatch.setattr("headrace.cards.bridge.driver._ROUNDS", 50)
    monkeypatch.setattr(card, "_in_flight", lambda _: 1)
    with pytest.raises(HeadraceError, match="the bridge hangs: packets of the epoch before"):
        driver.settle()


def test_interrupts_come_once_for_each_arming() -> None:
    card = FakeCard()
    driver = ready(card, single=True, wait_for_room=True)
    assert driver.pending() == set()
    driver.arm()
    card.arriving[0].extend(frames(3))
    while not driver.pending():
        card.step()
    assert driver.pending() == {H2S}
    driver.h2s.take("bulk")
    driver.arm(H2S)
    while not driver.pending():
        card.step()
    while driver.h2s.take("bulk") is not None:
        card.step()
    driver.arm(H2S, EXPRESS, S2H)
    for _ in range(20):
        card.step()
    assert driver.pending() <= {H2S}
