"""The NIC card: frames between Ethernet ports and functions, byte for byte, through host memory."""

from __future__ import annotations

import random

import pytest
from nic_model import BROADCAST, Copy, Made, ip_frame, plain_frame, random_frame
from nic_ports import FUNCTIONS, PAIRS, PORTS, NicBench

from headrace.card import Frame
from headrace.card.functions import Side, Virtqueue
from headrace.errors import HeadraceError


def test_frames_of_all_ports_and_functions_go_to_whom_they_are_for(bench: NicBench) -> None:
    random.seed(1)
    bench.card.memory.configure(read_latency_ns=300, write_latency_ns=100, stalls=7, out_of_order=3)
    bench.nic.set_hash_key(bench.model.key)
    settings = [(0, 0, False), (5, 0, False), (5, 0, False), (0, 1, True)]
    ports = [bench.enable(number, *setting) for number, setting in enumerate(settings)]
    macs = [one.mac for one in bench.model.functions.values()]
    expected: dict[int, list[list[bytes]]] = {port: [] for port in (*range(PORTS), *ports)}
    for origin in expected:
        frames = [random_frame(macs, [0, 5], 1600, shortest=60) for _ in range(150)]
        function = ports.index(origin) if origin in ports else None
        for port, sources in expected.items():
            copy = Copy(None, ports.index(port), 0) if port in ports else Copy(port)
            where = None if origin in ports else origin
            sources.append([made.data for made in frames if copy in bench.model.copies(made, where, function)])
        if origin in ports:
            bench.card.send(origin, [made.data for made in frames])
        else:
            bench.card.source(origin, [made.data for made in frames], timing=2e9)
    paths = bench.run()
    assert paths[0].received == PORTS * 150
    assert paths[1].received == FUNCTIONS * 150
    assert paths[0].dropped and paths[0].extra and paths[1].extra
    for port, sources in expected.items():
        rest = bench.frames(port)
        assert len(rest) == sum(map(len, sources)) > 50
        for each in sources:  # in order from each source, and nothing else
            found = set(each)
            assert [data for data in rest if data in found] == each


def test_a_bad_frame_is_dropped_and_counted(bench: NicBench) -> None:
    port = bench.enable(0)
    good = plain_frame(bench.model.functions[0].mac, 0, 100).data
    bench.card.send(0, [Frame(good), Frame(good, error=True), Frame(good)])
    bench.run()
    assert bench.frames(port) == [good, good]
    assert bench.nic.port_counters(0) == (3, 1, 0, 0)


def test_what_finds_no_room_is_dropped_whole_and_counted(bench: NicBench) -> None:
    """Frames for all functions, from both ports at their rate: more copies than go out at a time."""
    ports = [bench.enable(number, uplink=number % 2) for number in range(FUNCTIONS)]
    sent = [[plain_frame(BROADCAST, 0, 1500).data for _ in range(60)] for _ in range(PORTS)]
    for port in range(PORTS):
        bench.card.source(port, sent[port], timing=30e9)
    bench.run()
    counted = [bench.nic.port_counters(port) for port in range(PORTS)]
    assert [one.received for one in counted] == [60, 60]
    assert all(one.no_room for one in counted)
    for number, port in enumerate(ports):
        rest = iter(sent[number % 2])
        got = bench.frames(port)
        assert all(frame in rest for frame in got), "frames are changed, or in another order"
        full = bench.functions.counters(Side.RECEIVE, number * PAIRS).dropped_full
        assert len(got) + full == 60 - counted[number % 2].no_room


def test_what_a_driver_has_no_buffers_for_is_dropped_and_delays_no_frame(bench: NicBench) -> None:
    bench.card.memory.configure(write_bits_per_s=2e9)
    port = bench.enable(1)
    sent = [plain_frame(bench.model.functions[1].mac, 0, 1500).data for _ in range(400)]
    bench.card.source(0, sent, timing=20e9)
    bench.run()
    full = bench.functions.counters(Side.RECEIVE, PAIRS).dropped_full
    assert bench.nic.port_counters(0) == (400, 0, 0, 0)
    assert len(bench.frames(port)) == 400 - full < 400


def test_a_port_that_holds_its_link_off_loses_none(bench: NicBench) -> None:
    bench.nic.set_ports(3, hold=3)
    ports = [bench.enable(number) for number in range(FUNCTIONS)]
    sent = [plain_frame(BROADCAST, 0, 1500).data for _ in range(60)]
    bench.card.flow_control(0, True)
    bench.card.source(0, sent, timing=30e9)
    paths = bench.run()
    assert bench.nic.port_counters(0).no_room == 0
    assert paths[0].to_functions == 60 * FUNCTIONS
    for number, port in enumerate(ports):
        full = bench.functions.counters(Side.RECEIVE, number * PAIRS).dropped_full
        assert len(bench.frames(port)) + full == 60


def test_functions_that_send_faster_than_their_port_wait_for_it(bench: NicBench) -> None:
    for number in range(2):
        bench.enable(number)
    sent = [[plain_frame(b"\4" * 5 + bytes([4 * n]), 0, 1500).data for _ in range(60)] for n in range(2)]
    for number, frames in enumerate(sent):
        port = bench.plugs.port(number)
        assert port is not None
        bench.card.source(port, frames, timing="line")
    bench.card.set_rate(0, 5e9)
    bench.run()
    got = bench.frames(0)
    assert [data for data in got if data[5] == 0] == sent[0]
    assert [data for data in got if data[5] == 4] == sent[1]


def test_what_waits_for_a_ports_link_delays_what_functions_send_and_nothing_from_the_wire(bench: NicBench) -> None:
    ports = [bench.enable(number, uplink=int(number > 0)) for number in range(FUNCTIONS)]
    macs = [one.mac for one in bench.model.functions.values()]
    away = [plain_frame(BROADCAST, 7, 1500).data for _ in range(30)]
    wire, near, other_port = (
        [plain_frame(mac, 0, 100).data for _ in range(20)] for mac in (macs[1], macs[2], b"\6" * 6)
    )

    def arrivals() -> list[int]:
        """When frames from the wire come to function 1, counted from now."""
        start = bench.card.stats().time_ns
        bench.card.source(1, wire, timing=2e9)
        bench.card.run(until=None, cycles=20_000)
        return [frame.timestamp_ns - start for frame in bench.card.received(ports[1])]

    alone = arrivals()
    bench.card.source(ports[0], away, timing="line")
    bench.card.set_rate(0, 1e8)
    bench.card.run(until=None, cycles=20_000)
    bench.card.send(ports[1], near)
    bench.card.send(ports[3], other_port)
    beside = arrivals()
    assert len(beside) == len(wire)
    assert all(abs(one - other) < 200 for one, other in zip(alone, beside, strict=True))
    assert bench.frames(ports[2]) == bench.frames(1) == []
    bench.card.set_rate(0, 100e9)
    bench.run()
    assert bench.frames(0) == away
    assert bench.frames(ports[2]) == near
    assert bench.frames(1) == other_port


def test_flows_are_spread_over_the_queue_pairs_that_run(bench: NicBench) -> None:
    random.seed(2)
    mac = (0x02 << 40).to_bytes(6, "big")
    ports = [bench.enable(0), second_pair(bench)]
    bench.model.functions[0].pairs = [entry % PAIRS for entry in range(64)]
    made = [
        ip_frame(mac, 0, f"10.0.{random.randrange(256)}.1", "10.1.0.1", (random.getrandbits(16), 80), 50)
        for _ in range(200)
    ]
    bench.card.source(0, [one.data for one in made], timing=2e9)
    bench.run()
    for pair, port in enumerate(ports):
        expected = [one.data for one in made if bench.model.copies(one, 0) == [Copy(None, 0, pair)]]
        assert bench.frames(port) == expected
        assert len(expected) > 60
    bench.functions.stop(Side.RECEIVE, 1)
    bench.functions.stop(Side.TRANSMIT, 1)
    bench.card.source(0, [one.data for one in made], timing=2e9)
    bench.run()
    assert bench.frames(ports[0]) == [one.data for one in made]
    bench.card.detach_function(ports[1])


def test_all_flows_go_to_pair_0_until_they_are_spread(bench: NicBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.nic, "set_pairs", lambda *_: None)
    ports = [bench.enable(0), second_pair(bench)]
    mac = (0x02 << 40).to_bytes(6, "big")
    sent = [ip_frame(mac, 0, "10.0.0.1", "10.1.0.1", (port, 80), 50).data for port in range(20)]
    bench.card.source(0, sent, timing=2e9)
    bench.run()
    assert [bench.frames(port) for port in ports] == [sent, []]
    bench.card.detach_function(ports[1])


def second_pair(bench: NicBench) -> int:
    """A driver of function 0's pair 1; gives its port."""
    card, functions = bench.card, bench.functions
    bells = {side: functions.bell(side, 1) for side in Side}
    address = card.memory.reserve(2 * 64 * (9280 + 64))
    port, queues = card.attach_function(functions.number(0), address, 64, 9280, bells, {0: 3, 1: 2})
    for side in Side:
        functions.begin(side, 1, Virtqueue(*queues[side], 64, 3 - side))
    card.write(*bells[Side.RECEIVE])
    card.sink(port, "memory")
    return port


def test_a_function_is_disabled_changed_and_refused(bench: NicBench) -> None:
    port = bench.enable(1)
    old, new = bench.nic.settings[1], 0x02_00_00_00_01_01
    frames = {mac: plain_frame(mac.to_bytes(6, "big"), 0, 80).data for mac in (old.mac, new)}
    bench.nic.enable(1, type(old)(new))
    bench.card.source(0, [*frames.values()], timing=2e9)
    bench.run()
    assert bench.frames(port) == [frames[new]]
    bench.nic.disable(1)
    bench.card.source(0, [*frames.values()], timing=2e9)
    bench.card.send(port, [frames[new]])
    paths = bench.run()
    assert bench.frames(port) == bench.frames(0) == []
    assert [path.dropped for path in paths] == [3, 1]
    bench.nic.enable(0, type(old)(new))
    with pytest.raises(HeadraceError, match="another one has 02:00:00:00:01:01"):
        bench.nic.enable(1, type(old)(new))
    with pytest.raises(HeadraceError, match="Ethernet ports 0 to 1"):
        bench.nic.enable(1, type(old)(new, uplink=2))
    with pytest.raises(HeadraceError, match="functions 0 to 3"):
        bench.nic.enable(FUNCTIONS, old)


def test_the_table_of_stations_holds_its_entries(bench: NicBench) -> None:
    """At least nine of ten, with random keys; what is refused says so, and none is forgotten."""
    random.seed(3)
    port = bench.enable(3, vlan=9)
    macs = [random.getrandbits(48) & ~(1 << 40) for _ in range(920)]
    for mac in macs:
        bench.nic.add_station(mac, 9, 0, 3)
    made: list[Made] = [plain_frame(mac.to_bytes(6, "big"), 9, 60) for mac in macs]
    bench.card.source(0, [one.data for one in made], timing=10e9)
    bench.run()
    assert bench.frames(port) == [one.data for one in made]


def test_a_station_moves_to_another_function(bench: NicBench) -> None:
    ports = [bench.enable(number) for number in (0, 1)]
    mac, frame = 0x02_00_00_00_07_07, plain_frame(0x02_00_00_00_07_07.to_bytes(6, "big"), 0, 80).data
    bench.nic.add_station(mac, 0, 0, 0)
    for function in (0, 1, 0):
        bench.nic.move_station(mac, 0, 0, function)
        bench.card.source(0, [frame], timing=2e9)
        bench.run()
        assert [bench.frames(port) for port in ports] == [[frame] * (number == function) for number in (0, 1)]
    bench.nic.remove_station(mac, 0, 0)
    with pytest.raises(HeadraceError, match="no function has 02:00:00:00:07:07 in VLAN 0 of port 0"):
        bench.nic.move_station(mac, 0, 0, 1)
