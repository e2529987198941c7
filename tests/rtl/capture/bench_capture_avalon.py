"""The capture engine on Avalon, driven through its registers, as in a Cyclone V system."""

import random
from collections.abc import Callable
from typing import Any

import cocotb
from avalon import Agent
from capture.host import start
from capture.packets import HEADER_BYTES, SECOND, record
from cocotb.triggers import RisingEdge
from simulation import ROOT

from headrace.registers.compile import load_map
from headrace.testing.streams import PATTERNS, Stalls, behaviour, cycles, never

REGISTERS = {path: address for path, address, _ in load_map(ROOT / "regs" / "capture.rdl").walk()}
INPUTS = [f"s_axil_{name}" for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awprot", "arprot")]
INPUTS += ["avm_read_readdatavalid", "avm_write_writeresponsevalid", "irq_ready", "time_ns"]
RING, RING_LOG2, DESCRIPTORS, DESCRIPTOR_LOG2 = 0x7FF0_1000, 10, 0x1000_0000, 4
ENABLE, WAIT, RESTART = 1, 2, 1 << 8


class System:
    """The engine with an agent's memory; what a driver does."""

    def __init__(self, dut: Any, stalls: Callable[[], Stalls], latency: int) -> None:
        self.dut = dut
        self.size = len(dut.avm_write_byteenable)
        self.agent = Agent(dut, read_stalls=stalls(), write_stalls=stalls(), gaps=stalls(), latency=latency)
        self.head = self.consumer = 0
        self.ring = b""  # all that was taken out

    async def start(self) -> "System":
        dut = self.dut
        await start(dut, *INPUTS)
        dut.avm_read_waitrequest.value = dut.avm_write_waitrequest.value = 1
        dut.s_axil_wstrb.value = 15
        cocotb.start_soon(self.agent.run())
        for name, value in (
            ("ring_base", RING),
            ("ring_size", RING_LOG2),
            ("descriptor_base", DESCRIPTORS),
            ("descriptor_size", DESCRIPTOR_LOG2),
            ("control", ENABLE | WAIT),
        ):
            await self.write(name, value)
        return self

    async def write(self, name: str, value: int) -> None:
        """Write a register."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        dut.s_axil_awaddr.value = REGISTERS[name]
        dut.s_axil_wdata.value = value
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = dut.s_axil_bready.value = 1
        answered = False
        while not answered:
            await edge
            answered = bool(dut.s_axil_bvalid.value)
            if dut.s_axil_awready.value:
                dut.s_axil_awvalid.value = 0
            if dut.s_axil_wready.value:
                dut.s_axil_wvalid.value = 0
        assert not dut.s_axil_bresp.value
        dut.s_axil_bready.value = 0

    async def read(self, name: str) -> int:
        """Read a register."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        dut.s_axil_araddr.value = REGISTERS[name]
        dut.s_axil_arvalid.value = dut.s_axil_rready.value = 1
        while True:
            await edge
            if dut.s_axil_arready.value:
                dut.s_axil_arvalid.value = 0
            if dut.s_axil_rvalid.value:
                assert not dut.s_axil_rresp.value
                dut.s_axil_rready.value = 0
                return int(dut.s_axil_rdata.value)

    def fill(self, address: int, data: bytes) -> None:
        """Put bytes into the memory."""
        for place, value in enumerate(data, address):
            word, shift = place // self.size * self.size, place % self.size * 8
            self.agent.words[word] = self.agent.words.get(word, 0) & ~(0xFF << shift) | value << shift

    def bytes(self, address: int, count: int) -> bytes:
        """Bytes of the memory."""
        words = range(address // self.size * self.size, address + count, self.size)
        data = b"".join(self.agent.words.get(word, 0).to_bytes(self.size, "little") for word in words)
        return data[address % self.size :][:count]

    async def post(self, packet: tuple[int, bytes, int], time_ns: int) -> None:
        """Hand a packet over as (address, data, length on the wire), with a time."""
        address, data, wire_len = packet
        self.fill(address, data)
        for slot in (
            time_ns.to_bytes(8, "little") + (1 << 31).to_bytes(8, "little"),
            address.to_bytes(8, "little") + len(data).to_bytes(4, "little") + wire_len.to_bytes(4, "little"),
        ):
            self.fill(DESCRIPTORS + self.head % (1 << DESCRIPTOR_LOG2) * 16, slot)
            self.head += 1
        while self.head - await self.read("descriptor_tail") > (1 << DESCRIPTOR_LOG2) - 2:
            await self.take()
        await self.write("descriptor_head", self.head)

    async def take(self) -> None:
        """Take out of the ring what is in it."""
        producer = await self.read("producer")
        size = 1 << RING_LOG2
        for position in range(self.consumer, producer):
            self.ring += self.bytes(RING + position % size, 1)
        self.consumer = producer
        await self.write("consumer", producer)

    async def drain(self) -> None:
        """Take until the engine is no longer busy."""
        while await self.read("status") & 1:
            await self.take()
        await self.take()


def packets(count: int, longest: int = 300) -> list[tuple[int, bytes, int]]:
    """Packets at random places, the low bits of their addresses too."""
    return [
        (0x2000_0000 + 0x1000 * number + random.randrange(3000), random.randbytes(random.randint(1, longest)), number)
        for number in range(count)
    ]


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def the_ring_holds_the_records_of_all_packets(dut: Any, stalls: Any) -> None:
    system = await System(dut, stalls, random.randint(1, 30)).start()
    expected = b""
    for packet in packets(30):
        time_ns = random.randrange(1 << 32) * SECOND + random.randrange(SECOND)
        await system.post(packet, time_ns)
        expected += record(time_ns, packet[1], packet[2])
    await system.drain()
    assert system.ring == expected and len(expected) > 2 << RING_LOG2
    assert await system.read("records") == 30
    wraps, offset = divmod(len(expected), 1 << RING_LOG2)
    assert (await system.read("wraps"), await system.read("last_address")) == (wraps, RING + offset)


@behaviour()
async def packets_beyond_the_addresses_and_unreadable_ones_are_counted(dut: Any) -> None:
    system = await System(dut, never, 8).start()
    system.agent.bad = lambda address: address >> 28 == 3
    good, unreadable, beyond = packets(1)[0], (0x3000_0004, bytes(100), 1), (0x1_2000_0000, bytes(100), 2)
    for number, packet in enumerate([good, unreadable, beyond, good]):
        await system.post(packet, number)
    await system.drain()
    assert system.ring == record(0, good[1], 0) + record(3, good[1], 0)
    assert await system.read("read_errors") == 2
    assert all(burst.address >> 28 != 2 or burst.address < 0x2000_1000 for burst in system.agent.reads)


@behaviour()
async def a_bad_write_stops_the_producer_if_the_agent_tells(dut: Any) -> None:
    system = await System(dut, never, 8).start()
    system.agent.bad = lambda address: address >= RING + 512
    sent = [(address, bytes([number]) * 100, number) for number, (address, *_) in enumerate(packets(6))]
    for packet in sent:
        await system.post(packet, 0)
    await system.drain()
    tells = bool(dut.WRITE_RESPONSES.value)
    assert (await system.read("status") >> 1 & 1) == tells
    whole = 512 // (100 + HEADER_BYTES)
    assert await system.read("records") == (whole if tells else 6)
    assert system.ring[: whole * 116] == b"".join(record(0, data, number) for _, data, number in sent[:whole])
    await system.write("control", RESTART | ENABLE | WAIT)
    system.agent.bad = lambda _: False
    system.head = system.consumer = 0
    system.ring = b""
    await cycles(dut.clk, 5)
    for packet in sent:
        await system.post(packet, 0)
    await system.drain()
    assert system.ring == b"".join(record(0, data, number) for _, data, number in sent)


@behaviour()
async def the_watermark_raises_an_interrupt(dut: Any) -> None:
    system = await System(dut, never, 3).start()
    await system.write("watermark", 3 * (40 + HEADER_BYTES))
    await system.write("interrupt", 1)
    for number, (address, *_) in enumerate(packets(3)):
        assert not dut.irq_valid.value
        await system.post((address, bytes(40), number), 0)
        await cycles(dut.clk, 200)
    assert dut.irq_valid.value and not dut.irq_vector.value


@behaviour()
async def bursts_are_as_long_as_they_may_be(dut: Any) -> None:
    system = await System(dut, never, 20).start()
    longest = int(dut.BURST.value)
    await system.post((0x2000_0000, random.randbytes(4 * longest * system.size), 0), 0)
    await system.drain()
    reads = [burst.beats for burst in system.agent.reads if burst.address >> 28 == 2]
    assert reads == [longest] * 4
    assert max(burst.beats for burst in system.agent.writes) == longest
