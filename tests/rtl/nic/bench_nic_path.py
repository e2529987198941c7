"""What a direction of the NIC promises: each frame goes to whom it is for, once, in order; nobody else gets it."""

import random
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from nic_model import (
    BROADCAST,
    ENTRIES,
    Copy,
    Function,
    Made,
    NicModel,
    ip_frame,
    plain_frame,
    random_frame,
)
from rpu_fabric.flows import KEY, VECTORS

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    gaps,
    never,
    start,
    until,
)

INSERT, CHANGE, REMOVE = range(3)
DONE, EXISTS, NOT_FOUND = range(3)
NAMES = ("received", "to_vf", "to_port", "extra", "dropped")
LONGEST = 700


@dataclass(frozen=True)
class Origin:
    """Of a frame: an Ethernet port, or a function."""

    port: int | None = None
    function: int | None = None


@dataclass
class Path:
    """The block, a model of it, and what it has told."""

    dut: Any
    model: NicModel
    told: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))

    async def begin(self) -> None:
        """Resets the block, and sets it as the model is."""
        dut = self.dut
        for signal in (dut.vf_write, dut.pair_write, dut.op_valid, dut.op, dut.op_station, dut.op_vf):
            signal.value = 0
        dut.hash_key.value = int.from_bytes(self.model.key, "big")
        await start(dut)
        for number in range(int(dut.FUNCTIONS.value)):
            await self.write_function(number)
        for number, one in self.model.functions.items():
            assert await self.operate(INSERT, one, number) == DONE
        cocotb.start_soon(self.watch())

    async def write_function(self, number: int) -> None:
        """Sets a function, or disables one that the model doesn't have, and its indirection table."""
        dut = self.dut
        one = self.model.functions.get(number, Function(b"", enabled=False))
        dut.vf_write.value = (
            1 << 24 | number << 16 | one.enabled << 15 | one.promiscuous << 14 | one.uplink << 12 | one.vlan
        )
        for entry, pair in enumerate(one.pairs):
            dut.pair_write.value = 1 << 17 | number << 9 | entry << 3 | pair
            await RisingEdge(dut.clk)
        dut.vf_write.value = dut.pair_write.value = 0

    async def operate(self, what: int, one: Function, number: int) -> int:
        """An operation on the table of stations; gives its answer."""
        dut = self.dut
        dut.op.value, dut.op_vf.value = what, number
        dut.op_station.value = one.uplink << 60 | one.vlan << 48 | int.from_bytes(one.mac, "big")
        dut.op_valid.value = 1
        await RisingEdge(dut.clk)
        while not dut.op_ready.value:
            await RisingEdge(dut.clk)
        dut.op_valid.value = 0
        await RisingEdge(dut.clk)
        while not dut.op_done.value:
            await RisingEdge(dut.clk)
        return int(dut.op_answer.value)

    async def watch(self) -> None:
        """Counts what is told, for ever."""
        while True:
            await RisingEdge(self.dut.clk)
            word = int(self.dut.told.value)
            for place, name in enumerate(reversed(NAMES)):
                self.told[name] += word >> place & 1

    async def run(
        self, frames: list[tuple[Made, Origin]], stalls: Any = never, sink_stalls: Any = never
    ) -> tuple[Source, Sink, list[tuple[bytes, Copy]]]:
        """Sends frames; gives both ends and what has come out."""
        dut = self.dut
        signals = {
            side: tuple(getattr(dut, f"{side}_axis_t{name}") for name in ("data", "keep", "last")) for side in "sm"
        }
        words = [
            word
            for made, origin in frames
            for word in frame_words(made.data, len(dut.s_axis_tdata), lambda origin=origin: self.origin_word(origin))
        ]
        source = Source(
            Channel(dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, (*signals["s"], dut.s_origin)), words, stalls()
        )
        sink = Sink(Channel(dut.clk, dut.m_axis_tvalid, dut.m_axis_tready, (*signals["m"], dut.m_copy)), sink_stalls())
        cocotb.start_soon(sink.run())
        await source.run()
        await until(dut.clk, lambda: bool(dut.idle.value), 60_000)
        await cycles(dut.clk, 5)
        return source, sink, copies_of(sink)

    def origin_word(self, origin: Origin) -> int:
        """As who sends to the block says it."""
        if origin.function is None:
            return origin.port or 0
        sender = self.model.functions[origin.function]
        return (not sender.enabled) << 11 | 1 << 10 | origin.function << 2 | sender.uplink

    def expected(self, frames: list[tuple[Made, Origin]]) -> list[tuple[bytes, Copy]]:
        """What the model sends."""
        return [
            (made.data, copy)
            for made, origin in frames
            for copy in self.model.copies(made, origin.port, origin.function)
        ]


def copies_of(sink: Sink) -> list[tuple[bytes, Copy]]:
    """The frames that a sink has, and whom each is for; all its beats say the same."""
    found, data, beside = [], b"", set()
    for tdata, tkeep, tlast, copy in sink.taken:
        count = tkeep.bit_count()
        assert tkeep == (1 << count) - 1, "tkeep has holes"
        data += (tdata & (1 << 8 * count) - 1).to_bytes(count, "little")
        beside.add(copy)
        if tlast:
            assert len(beside) == 1
            word = beside.pop()
            assert not word >> 15, "nothing was to be sent"
            found.append((data, Copy(word >> 11 & 3) if word >> 13 & 1 else Copy(None, word >> 3 & 255, word & 7)))
            data = b""
    assert not data
    return found


def some_functions(dut: Any) -> dict[int, Function]:
    """All that there are but one, in two VLANs and without, at two ports, with random indirection tables."""
    count, pairs = int(dut.FUNCTIONS.value), int(dut.PAIRS.value)
    result = {}
    for number in range(count):
        if count > 2 and number == 2:
            continue
        result[number] = Function(
            bytes([2, 0, 0, 0, 1, number]),
            vlan=random.choice((0, 0, 5, 4094)),
            uplink=random.randrange(2),
            promiscuous=random.random() < 0.3,
            enabled=number % 7 != 4,
            pairs=[random.randrange(pairs) for _ in range(ENTRIES)],
        )
    return result


def some_frames(path: Path, count: int) -> list[tuple[Made, Origin]]:
    """From ports and functions, half of them for stations that are there; some are too short for a header."""
    functions = path.model.functions
    macs = [one.mac for one in functions.values()]
    frames = []
    for _ in range(count):
        made, port = random_frame(macs, [0, 5, 4094], LONGEST), random.randrange(3)
        if random.random() < 0.5:
            target = random.choice(list(functions.values()))
            made, port = random_frame([target.mac] * 5, [target.vlan], LONGEST), target.uplink
        if random.random() < 0.05:
            made = Made(made.data[: random.randint(1, 13)], b"")
        wire = random.random() < 0.5
        frames.append((made, Origin(port=port) if wire else Origin(function=random.choice(list(functions)))))
    return frames


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), PAIRS))
async def each_frame_goes_to_whom_it_is_for(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    path = Path(dut, NicModel(some_functions(dut), random.randbytes(40)))
    await path.begin()
    frames = some_frames(path, 60)
    _, _, found = await path.run(frames, stalls, sink_stalls)
    expected = path.expected(frames)
    assert found == expected
    to_port = sum(copy.port is not None for _, copy in expected)
    dropped = sum(not path.expected([frame]) for frame in frames)
    assert path.told == {
        "received": len(frames),
        "to_vf": len(expected) - to_port,
        "to_port": to_port,
        "extra": len(expected) - len(frames) + dropped,
        "dropped": dropped,
    }
    assert dropped and len(expected) > len(frames) // 4


@behaviour()
async def frames_for_one_go_through_at_a_beat_a_cycle(dut: Any) -> None:
    path = Path(dut, NicModel({0: Function(b"\2" * 6)}, KEY))
    await path.begin()
    step = len(dut.s_axis_tdata) // 8
    sizes = [200, *(random.choice((step, 64, 200)) for _ in range(300))]  # none waits longer for its end than the first
    frames = [(plain_frame(b"\2" * 6, 0, size), Origin(port=0)) for size in sizes]
    source, sink, found = await path.run(frames)
    assert found == path.expected(frames)
    assert gaps(source.times_ps) == 0
    assert gaps(sink.times_ps) == 0


@behaviour()
async def the_latency_is_as_the_head_says(dut: Any) -> None:
    path = Path(dut, NicModel({0: Function(b"\2" * 6)}, KEY))
    await path.begin()
    source, sink, _ = await path.run([(plain_frame(b"\2" * 6, 0, 60), Origin(port=0))])
    assert (sink.times_ps[0] - source.times_ps[-1]) // PERIOD_PS == (16 if int(dut.DEPTH.value) > 64 else 15)


@behaviour()
async def a_frame_for_all_goes_out_a_beat_a_cycle(dut: Any) -> None:
    count = int(dut.FUNCTIONS.value)
    path = Path(dut, NicModel({n: Function(bytes([2, 0, 0, 0, 0, n])) for n in range(count)}, KEY))
    await path.begin()
    frames = [(plain_frame(BROADCAST, 0, 600), Origin(function=0)) for _ in range(3)]
    _, sink, found = await path.run(frames)
    assert found == path.expected(frames)
    assert len(found) == 3 * count
    assert gaps(sink.times_ps) <= 3 * (count + 16)


@behaviour()
async def a_queue_pair_is_chosen_by_microsofts_hash(dut: Any) -> None:
    """The tables say one bit of their place after the other: so all of it is seen."""
    mac = b"\2" * 6
    path = Path(dut, NicModel({0: Function(mac)}, KEY))
    await path.begin()
    for ports in (False, True):
        frames = [
            ip_frame(mac, 0, source, destination, (source_port, port) if ports else None, 20)
            for destination, port, source, source_port, _, _ in VECTORS
        ]
        seen = [0] * len(VECTORS)
        for bit in range(6):
            path.model.functions[0].pairs = [entry >> bit & 1 for entry in range(ENTRIES)]
            await path.write_function(0)
            _, _, found = await path.run([(frame, Origin(port=0)) for frame in frames])
            for place, (_, copy) in enumerate(found):
                assert copy.pair is not None
                seen[place] |= copy.pair << bit
        expected = [vector[5 if ports else 4] % ENTRIES for vector in VECTORS]
        assert seen == (expected if int(dut.PAIRS.value) > 1 else [0] * len(VECTORS))


@behaviour()
async def stations_come_go_and_move(dut: Any) -> None:
    mac = b"\2" * 6
    path = Path(dut, NicModel({0: Function(mac), 1: Function(b"\2" * 5 + b"\3")}, KEY))
    await path.begin()
    frame = (plain_frame(mac, 0, 60), Origin(port=0))
    one = path.model.functions[0]
    assert await path.operate(INSERT, one, 1) == EXISTS
    assert (await path.run([frame]))[2] == [(frame[0].data, Copy(None, 0, 0))]
    assert await path.operate(CHANGE, one, 1) == DONE
    assert (await path.run([frame]))[2] == [(frame[0].data, Copy(None, 1, 0))]
    assert await path.operate(REMOVE, one, 0) == DONE
    assert await path.operate(REMOVE, one, 0) == NOT_FOUND
    assert (await path.run([frame]))[2] == []
