"""What the filter engine promises: traffic passes untouched; what a program accepts comes out in order of arrival."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from filter.core import MEASURES, Frame, Verdict, judge
from filter.loader import SLOTS, Loader, Slots
from filter.meta import rx_user, unpack_tx
from oracle import random_packets

from headrace.net import bpf
from headrace.net.assembler import assemble
from headrace.testing.streams import (
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    frame_words,
    frames_of,
    mostly,
    never,
    seldom,
)

ACCEPT = assemble("ret #262144")
BUDGET = 16384
closed = repeat(True)


def frames(dut: Any, seed: int, count: int) -> list[Frame]:
    """Varied traffic, now and then in error or longer than what is inspected."""
    longest = int(dut.MAX_FRAME.value)
    some = []
    for packet in random_packets(seed, count):
        data = packet.data if len(packet.data) <= longest else packet.data[:longest]
        choice = random.random()
        if choice < 0.03:
            data = random.randbytes(longest + random.choice((1, 63, 64, 65, 500)))
        error = choice > 0.97
        wire_len = packet.wirelen if packet.wirelen != len(packet.data) else None
        some.append(Frame(data, wire_len, bad=error or len(data) > longest))
    return some


class Port:
    """An ingress port: what it sends, and when the first beat of each frame was taken."""

    def __init__(self, dut: Any, number: int, stalls: Stalls) -> None:
        signals = (getattr(dut, f"rx{number}_t{name}") for name in ("valid", "ready", "data", "keep", "last", "user"))
        valid, ready, *payload = signals
        self.width = int(dut.DATA_W.value)
        self.longest = int(dut.MAX_FRAME.value)
        self.source = Source(Channel(dut.clk, valid, ready, tuple(payload)), [], stalls)
        self.frames: list[Frame] = []

    async def send(self, some: Sequence[Frame]) -> None:
        """Send frames; a frame that is bad for no other reason is sent in error."""
        words: list[Word] = []
        for frame in some:
            error = frame.bad and len(frame.data) <= self.longest
            beats = frame_words(frame.data, self.width, lambda: random.getrandbits(33))
            beats[-1] = (*beats[-1][:3], rx_user(frame.wire_len, error))
            words += beats
        self.frames += some
        self.source.words = words
        await self.source.run()

    def starts(self) -> list[int]:
        """When the first beat of each frame was taken, in ps."""
        firsts = [True, *(bool(word[2]) for word in self.source.sent)]
        return [time for time, first in zip(self.source.times_ps, firsts, strict=False) if first]


class Bench:
    """The engine with sources, sinks and a loader."""

    def __init__(self, dut: Any, rx: Sequence[Stalls] = (), tx: Sequence[Stalls] = ()) -> None:
        self.dut = dut
        rx = rx or (never(), never())
        tx = tx or (never(), never(), never())
        self.ports = [Port(dut, number, stalls) for number, stalls in enumerate(rx)]
        self.sinks = [Sink(self._tx(number), stalls) for number, stalls in enumerate(tx)]
        self.loader = Loader(dut)
        self.epoch_ps = 0  # simulation time at which time_ns was 0

    def _tx(self, number: int) -> Channel:
        names = ("valid", "ready", "data", "keep", "last", "user")
        valid, ready, *payload = (getattr(self.dut, f"tx{number}_t{name}") for name in names)
        return Channel(self.dut.clk, valid, ready, tuple(payload))

    async def start(self, slots: Slots, flow_control: bool = False, measure: int | None = None) -> None:
        """Reset, load the programs into set 0 and wait until the engine is ready."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        inputs = ("rx0_tvalid", "rx1_tvalid", "tx0_tready", "tx1_tready", "tx2_tready", "instr_we", "program_we")
        for name in (*inputs, "active_set", "measure_read_req"):
            getattr(dut, name).value = 0
        dut.flow_control.value = flow_control
        dut.budget.value = BUDGET
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        await self.loader.load(slots, measure=measure)
        while not dut.ready.value:
            await RisingEdge(dut.clk)
        self.epoch_ps = int(get_sim_time("ps")) - int(dut.time_ns.value) * PERIOD_PS
        for sink in self.sinks:
            cocotb.start_soon(sink.run())

    async def send(self, *each: Sequence[Frame]) -> None:
        """Send frames at both ports at once."""
        tasks = [cocotb.start_soon(port.send(some)) for port, some in zip(self.ports, each, strict=False)]
        for task in tasks:
            await task

    async def settle(self, limit: int = 20_000) -> None:
        """Wait until the engine is idle; then everything is counted and nothing moves any more."""
        dut = self.dut
        count = 0
        while not dut.idle.value:
            await RisingEdge(dut.clk)
            count += 1
            assert count < limit, "does not get idle"
        before = self.counts()
        await cycles(dut.clk, 50)
        assert dut.idle.value and self.counts() == before

    def count(self, name: str) -> list[int]:
        """A counter of the bench module, one number for each port or program."""
        signal = getattr(self.dut, name)
        value = int(signal.value)
        return [value >> shift & 0xFFFFFFFF for shift in range(0, len(signal), 32)]

    def counts(self) -> dict[str, list[int]]:
        """All counters."""
        names = "packets bytes uninspected bad held matched matched_bytes errors inspected accepted forwarded"
        names += " forwarded_bytes monitor_dropped measure_out_of_range slots_used instructions"
        return {name: self.count(name) for name in names.split()}

    def arrivals(self) -> list[tuple[int, int, Frame]]:
        """Time in cycles, port and content of all frames in order of arrival."""
        return sorted(
            (
                ((start - self.epoch_ps) // PERIOD_PS, number, frame)
                for number, port in enumerate(self.ports)
                for start, frame in zip(port.starts(), port.frames, strict=True)
            ),
            key=lambda arrival: arrival[:2],
        )

    def check_conservation(self) -> None:
        """Packets = inspected + uninspected; accepted = forwarded + dropped; bytes; what the monitor port gave."""
        counts = self.counts()
        sizes = [[len(frame.data) for frame in port.frames] for port in self.ports]
        assert counts["packets"] == [len(port) for port in sizes]
        assert counts["bytes"] == [sum(port) for port in sizes]
        assert sum(counts["packets"]) == counts["inspected"][0] + sum(counts["uninspected"])
        assert counts["accepted"][0] == counts["forwarded"][0] + counts["monitor_dropped"][0]
        monitored = frames_of(self.sinks[2].taken)
        assert counts["forwarded"][0] == len(monitored)
        assert counts["forwarded_bytes"][0] == sum(len(data) for data, _ in monitored)

    def check_passthrough(self) -> None:
        """Every beat has come out of the other port as it went in."""
        for port, sink in zip(self.ports, reversed(self.sinks[:2]), strict=True):
            number = self.ports.index(port)
            assert [word[:3] for word in sink.taken] == [word[:3] for word in port.source.sent]
            for word, sent in zip(sink.taken, port.source.sent, strict=True):
                if sent[2]:
                    meta = unpack_tx(word[3])
                    assert (meta.error << 33 | meta.cut << 32 | meta.wire_len) == sent[3]
                    assert (meta.port, meta.matched, meta.lost) == (number, 0, 0)

    def check_monitor(self, verdicts: Sequence[Verdict], complete: bool) -> None:
        """What came out is what was accepted, in order; all of it if `complete`. Verdicts are in order of arrival."""
        arrivals = self.arrivals()
        accepted = [(*arrival, verdict) for arrival, verdict in zip(arrivals, verdicts, strict=True) if verdict.matched]
        frames = frames_of(self.sinks[2].taken)
        if complete:
            assert len(frames) == len(accepted)
        following = iter(accepted)
        for data, users in frames:
            meta = unpack_tx(users[0])
            time, port, frame, verdict = next(
                found for found in following if found[:2] == (meta.timestamp_ns, meta.port)
            )
            assert data == frame.data[: verdict.snaplen]
            assert (meta.matched, meta.lengths, meta.wire_len) == (verdict.matched, verdict.values, frame.wire)
            assert (time, port) == (meta.timestamp_ns, meta.port)


def verdicts_of(arrivals: Iterable[tuple[int, int, Frame]], slots: Slots, measure: int | None = None) -> list[Verdict]:
    return judge([frame for _, _, frame in arrivals], slots, measure)


@behaviour()
async def traffic_passes_untouched_in_one_cycle(dut: Any) -> None:
    # The filters accept everything and the monitor port is shut: nothing of that may show.
    bench = Bench(dut, (seldom(), bursts()), (never(), never(), closed))
    await bench.start(dict.fromkeys(range(SLOTS), ACCEPT))
    await bench.send(frames(dut, 1, 150), frames(dut, 2, 150))
    await cycles(dut.clk, 10)
    bench.check_passthrough()
    for port, sink in zip(bench.ports, reversed(bench.sinks[:2]), strict=True):
        latencies = {out - into for into, out in zip(port.source.times_ps, sink.times_ps, strict=True)}
        assert latencies == {PERIOD_PS}
    assert sum(bench.count("held")) == 0


@behaviour()
@cocotb.parametrize((("tx", "flow_control"), [(seldom, True), (mostly, False), (mostly, True), (bursts, False)]))
async def traffic_passes_untouched_through_stalls(dut: Any, tx: Any, flow_control: bool) -> None:
    bench = Bench(dut, (never(), seldom()), (tx(), tx(), seldom()))
    slots = {0: bpf.compile("ip"), 1: bpf.compile("udp or arp")}
    await bench.start(slots, flow_control)
    await bench.send(frames(dut, 3, 100), frames(dut, 4, 100))
    await bench.settle()
    bench.check_passthrough()
    bench.check_conservation()
    bench.check_monitor(verdicts_of(bench.arrivals(), slots), complete=flow_control)


@behaviour()
@cocotb.parametrize(monitor=[never, seldom, mostly])
async def with_flow_control_all_that_is_accepted_comes_out_in_order_of_arrival(dut: Any, monitor: Any) -> None:
    bench = Bench(dut, (seldom(), never()), (never(), never(), monitor()))
    slots = {0: bpf.compile("tcp", snaplen=96), 2: bpf.compile("greater 100"), 3: bpf.compile("vlan or mpls")}
    await bench.start(slots, flow_control=True)
    await bench.send(frames(dut, 5, 80), frames(dut, 6, 80))
    await bench.settle(limit=60_000)
    bench.check_passthrough()
    bench.check_conservation()
    verdicts = verdicts_of(bench.arrivals(), slots)
    bench.check_monitor(verdicts, complete=True)
    assert sum(bench.count("uninspected")) == 0
    assert bench.count("monitor_dropped") == [0]
    assert bench.count("bad") == [sum(frame.bad for frame in port.frames) for port in bench.ports]
    wires = [frame.wire for _, _, frame in bench.arrivals()]
    for slot in range(SLOTS):
        found = [wire for wire, verdict in zip(wires, verdicts, strict=True) if verdict.matched >> slot & 1]
        assert bench.count("matched")[slot] == len(found)
        assert bench.count("matched_bytes")[slot] == sum(found) & 0xFFFFFFFF


@behaviour()
async def without_flow_control_what_no_core_takes_passes_and_is_counted(dut: Any) -> None:
    bench = Bench(dut)
    slow = {0: assemble("\n".join(["ld #1"] * 60) + "\nret a")}
    await bench.start(slow)
    some = [Frame(random.randbytes(60)) for _ in range(400)]
    await bench.send(some, some)
    await bench.settle()
    bench.check_passthrough()
    bench.check_conservation()
    bench.check_monitor(verdicts_of(bench.arrivals(), slow), complete=False)
    counts = bench.counts()
    assert sum(counts["uninspected"]) > 100
    assert counts["held"] == [0, 0]
    # Both ports have their share of the cores.
    inspected = [packets - missed for packets, missed in zip(counts["packets"], counts["uninspected"], strict=True)]
    assert min(inspected) > 0.4 * sum(inspected)
    assert counts["inspected"][0] == counts["accepted"][0] > 40


@behaviour()
async def flow_control_holds_the_link_off(dut: Any) -> None:
    bench = Bench(dut)
    slow = {0: assemble("\n".join(["ld #1"] * 60) + "\nret a")}
    await bench.start(slow, flow_control=True)
    some = [Frame(random.randbytes(60)) for _ in range(200)]
    await bench.send(some, some)
    await bench.settle(limit=60_000)
    bench.check_conservation()
    bench.check_monitor(verdicts_of(bench.arrivals(), slow), complete=True)
    counts = bench.counts()
    assert counts["uninspected"] == [0, 0]
    assert min(counts["held"]) > 1000
    assert counts["instructions"] == counts["slots_used"] == [400 * 61]


@behaviour()
async def a_shut_monitor_port_drops_and_counts(dut: Any) -> None:
    bench = Bench(dut, tx=(never(), never(), closed))
    await bench.start({0: ACCEPT})
    some = [Frame(random.randbytes(random.choice((60, 1500)))) for _ in range(400)]
    await bench.send(some)
    await cycles(dut.clk, 1000)
    assert bench.count("monitor_dropped")[0] > 50
    assert not dut.idle.value
    bench.sinks[2].stalls = never()
    await bench.settle()
    bench.check_conservation()
    bench.check_monitor(verdicts_of(bench.arrivals(), {0: ACCEPT}), complete=False)


@behaviour()
async def a_port_that_is_blocked_keeps_no_core_from_the_other(dut: Any) -> None:
    bench = Bench(dut, tx=(never(), closed, never()))
    await bench.start({0: ACCEPT})
    blocked = cocotb.start_soon(bench.ports[0].send([Frame(bytes(60))] * 10))
    await cycles(dut.clk, 200)
    before = bench.count("uninspected")
    for _ in range(40):
        await bench.ports[1].send([Frame(random.randbytes(60))])
        await cycles(dut.clk, 10)
    assert bench.count("uninspected") == before
    bench.sinks[1].stalls = never()
    await blocked
    await bench.settle()
    bench.check_conservation()


@behaviour()
async def programs_change_between_two_packets_and_lose_none(dut: Any) -> None:
    bench = Bench(dut, (seldom(), seldom()))
    programs = [bpf.compile(text) for text in ("tcp", "udp", "arp or ip6", "greater 500", "less 100", "not ip")]
    slots: Slots = {0: programs[0]}
    await bench.start(slots, flow_control=True)
    changes = [(0, slots)]
    traffic = cocotb.start_soon(bench.send(frames(dut, 7, 200), frames(dut, 8, 200)))
    active = 0
    while not traffic.done():
        await cycles(dut.clk, random.randint(20, 200))
        active = 1 - active
        while int(dut.set_busy.value) >> active & 1:
            await RisingEdge(dut.clk)
        slots = {slot: random.choice(programs) for slot in random.sample(range(SLOTS), 2)}
        await bench.loader.load(slots, set=active)
        dut.active_set.value = active
        await RisingEdge(dut.clk)
        # The first cycle in which a packet gets the new programs is the one that has just ended.
        changes.append((int(dut.time_ns.value), slots))
    await bench.settle()
    bench.check_conservation()
    assert len(changes) > 10
    verdicts = []
    for time, _, frame in bench.arrivals():
        current = [slots for since, slots in changes if since <= time][-1]
        verdicts += judge([frame], current)
    bench.check_monitor(verdicts, complete=True)


async def _read(dut: Any, index: int) -> tuple[int, int]:
    dut.measure_read_index.value = index
    dut.measure_read_req.value = 1
    await RisingEdge(dut.clk)
    dut.measure_read_req.value = 0
    for _ in range(20):
        await RisingEdge(dut.clk)
        if dut.measure_read_done.value:
            return int(dut.measure_read_packets.value), int(dut.measure_read_bytes.value)
    raise AssertionError("no answer")


@behaviour()
async def a_measurement_counts_every_packet_while_it_is_read(dut: Any) -> None:
    bench = Bench(dut, (never(), seldom()))
    slots = {0: bpf.compile("tcp"), 1: assemble("ldh [12]\nrsh #3\nret a")}
    await bench.start(slots, flow_control=True, measure=1)
    traffic = cocotb.start_soon(bench.send(frames(dut, 9, 150), frames(dut, 10, 150)))
    last: Counter[int] = Counter()
    while not traffic.done():
        index = random.choice((0, 256, 0x86DD >> 3, 257, 1023))
        count, _ = await _read(dut, index % MEASURES)
        assert count >= last[index % MEASURES]
        last[index % MEASURES] = count
    await bench.settle()
    packets: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for (_, _, frame), verdict in zip(bench.arrivals(), verdicts_of(bench.arrivals(), slots, 1), strict=True):
        if not frame.bad:
            packets[verdict.measure] += 1
            sizes[verdict.measure] += frame.wire
    assert bench.count("measure_out_of_range") == [packets.pop(MEASURES)]
    del sizes[MEASURES]
    for index in range(MEASURES):
        assert await _read(dut, index) == (packets[index], sizes[index])
    bench.check_conservation()


@behaviour()
async def errors_of_a_program_are_counted_for_its_slot(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start({0: ACCEPT, 2: bpf.Program((bpf.Instruction(0x00, 0, 0, 0),))}, flow_control=True)
    await bench.send([Frame(bytes(60))] * 20, [Frame(bytes(60))] * 20)
    await bench.settle()
    assert bench.count("errors") == [0, 0, 40, 0]
    assert bench.count("matched") == [40, 0, 0, 0]


@behaviour()
async def a_frame_of_more_than_a_megabyte_is_too_long_however_long_it_is(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start({0: ACCEPT}, flow_control=True)
    row = int(dut.DATA_W.value) // 8
    count = (1 << 20) // row
    port = bench.ports[0]
    await port.send([Frame(bytes(60))])
    channel = port.source.channel
    channel.valid.value = 1
    channel.write((0, (1 << row) - 1, 0, 0))
    await cycles(dut.clk, count - 1)
    channel.write((0, (1 << row) - 1, 1, 0))
    await RisingEdge(dut.clk)
    await port.send([Frame(bytes(61))])
    await bench.settle()
    assert bench.count("bad") == [1, 0]
    assert bench.count("forwarded") == [2]
    assert bench.count("packets") == [3, 0]


@behaviour()
async def a_frame_whose_last_beat_is_empty_is_bad_and_disturbs_no_other(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start({0: ACCEPT}, flow_control=True)
    row = int(dut.DATA_W.value) // 8
    port = bench.ports[0]
    for _ in range(10):
        await port.send([Frame(random.randbytes(random.randint(1, 300)))])
        port.frames.append(Frame(bytes(row), bad=True))
        port.source.words = [(0, (1 << row) - 1, 0, 0), (0, 0, 1, 0)]
        await port.source.run()
    await bench.settle()
    bench.check_passthrough()
    bench.check_conservation()
    bench.check_monitor(verdicts_of(bench.arrivals(), {0: ACCEPT}), complete=True)
    assert bench.count("bad") == [10, 0]


@behaviour()
async def it_is_idle_when_all_is_done_and_not_before(dut: Any) -> None:
    for accept in (False, True):
        bench = Bench(dut)
        await bench.start({0: ACCEPT} if accept else {})
        await cycles(dut.clk, 3)  # the last counters are being wiped
        assert dut.idle.value
        for size in (0, 1, 60, 1000):
            # Sent without a core it passes too: then counting is the last thing to be done.
            for both in (False, True):
                before = sum(bench.count("packets"))
                await bench.send(*[[Frame(bytes(size))] * (1 + 4 * both)] * (1 + both))
                await bench.settle()
                assert sum(bench.count("packets")) - before == (10 if both else 1)
        dut.rst.value = 1
        await cycles(dut.clk, 3)


@behaviour()
async def a_packet_that_comes_when_it_is_idle_finds_a_core(dut: Any) -> None:
    # As when idle time is skipped: the next frame comes in the cycle after.
    bench = Bench(dut)
    await bench.start({0: assemble("ret #0")})
    longest = int(dut.MAX_FRAME.value)
    for size in (longest, longest, 60, longest - 70, 60, longest, 0, longest):
        while not dut.idle.value:
            await RisingEdge(dut.clk)
        await bench.send([Frame(random.randbytes(size))])
        await cycles(dut.clk, 2)
    await bench.settle()
    assert sum(bench.count("uninspected")) == 0


@behaviour()
@cocotb.parametrize(single=[False, True])
async def what_is_left_of_a_frame_after_reset_is_no_frame(dut: Any, single: bool) -> None:
    bench = Bench(dut)
    await bench.start({0: ACCEPT})
    edge = RisingEdge(dut.clk)
    full = (1 << len(dut.rx0_tkeep)) - 1
    # A link that runs: a beat in every cycle, before, in and after reset.
    dut.rx0_tdata.value, dut.rx0_tkeep.value, dut.rx0_tuser.value = random.getrandbits(len(dut.rx0_tdata)), full, 0
    dut.rx0_tvalid.value, dut.rx0_tlast.value = 1, 0
    await cycles(dut.clk, 4)
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    if not single:
        await cycles(dut.clk, 5)
    dut.rx0_tlast.value = 1
    await edge
    dut.rx0_tvalid.value = 0
    for sink in bench.sinks:
        sink.taken.clear()
    await bench.loader.load({0: ACCEPT})
    while not dut.ready.value:
        await edge
    bench.epoch_ps = int(get_sim_time("ps")) - int(dut.time_ns.value) * PERIOD_PS
    dut.flow_control.value = 1  # one core may have room for two of the three
    some = [Frame(random.randbytes(size)) for size in (60, 1000, 61)]
    await bench.send(some)
    await bench.settle()
    assert bench.count("packets") == [3, 0]
    bench.check_conservation()
    bench.check_passthrough()
    bench.check_monitor(verdicts_of(bench.arrivals(), {0: ACCEPT}), complete=True)
