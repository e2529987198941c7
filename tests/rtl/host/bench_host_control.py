"""What the registers promise: they read as they were written, counters as they are, and other addresses as 0."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import behaviour, cycles, start, until

WIPES = 72
LIMIT = WIPES + 20
# Registers that are written and read, and their bits
WRITTEN = {
    **{0x40: 0x1FFFF, 0x44: 0x1FFFFF, 0x48: 0xFFFFFFFF, 0x64: 0xFFFF, 0x68: 0xFFFFFFFF},
    **dict.fromkeys(range(0x4C, 0x64, 4), 0xFFFFFFFF),
    **{0x100: 0xFFFF, 0x104: 0xFFFFFFFF, 0x108: 0xFFFFFFFF, 0x10C: 0x03070FFF, 0x110: 0xFFFFFFFF},
}
SELECT, START, COUNTED, DROPPED = 0x40, 0x70, 0x80, 0x120
FAILED = 0xC0
BELL = 0x10  # of transmit queues, then of receive queues
REQUEST = (("rready", 1), ("arvalid", 1), ("arprot", 3), ("araddr", 32), ("bready", 1), ("wvalid", 1), ("wstrb", 4))
REQUEST += (("wdata", 32), ("awvalid", 1), ("awprot", 3), ("awaddr", 32))
RESPONSE = (("rvalid", 1), ("rresp", 2), ("rdata", 32), ("arready", 1), ("bvalid", 1), ("bresp", 2), ("wready", 1))
RESPONSE += (("awready", 1),)


class Control:
    """The registers, and what they are given."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.request: dict[str, int] = {}
        self.counted = [[random.getrandbits(32) for _ in range(10)] for _ in range(2)]
        self.dropped = [random.getrandbits(32) for _ in range(8)]

    async def begin(self) -> None:
        dut = self.dut
        for name in ("axil_req", "quiet", "place", "counted_valid", "fail_valid", "dropped_valid", "irq_ready"):
            getattr(dut, name).value = 0
        dut.counted.value = sum(
            word << 320 * side + 32 * at for side, words in enumerate(self.counted) for at, word in enumerate(words)
        )
        dut.dropped.value = sum(word << 32 * at for at, word in enumerate(self.dropped))
        await start(dut)
        assert dut.idle.value, "nothing is asked for after a reset"

    def offer(self, **values: int) -> None:
        self.request |= values
        bits = at = 0
        for name, width in REQUEST:
            bits |= self.request.get(name, 0) << at
            at += width
        self.dut.axil_req.value = bits

    def response(self, name: str) -> int:
        bits = int(self.dut.axil_rsp.value)
        for other, width in RESPONSE:
            if other == name:
                return bits & (1 << width) - 1
            bits >>= width
        raise KeyError(name)

    async def edge(self, name: str) -> None:
        """The clock edge at which a channel's `name` is high."""
        for _ in range(LIMIT):
            await RisingEdge(self.dut.clk)
            if self.response(name):
                return
        raise AssertionError(name)

    async def write(self, address: int, data: int) -> None:
        self.offer(awvalid=1, awaddr=address, wvalid=1, wdata=data, wstrb=15, bready=1)
        left = {"awready", "wready"}
        for _ in range(LIMIT):
            await RisingEdge(self.dut.clk)
            taken = {name for name in left if self.response(name)}
            left -= taken
            self.offer(**{f"{name.removesuffix('ready')}valid": 0 for name in taken})
            if not left:
                break
        assert not left
        if not self.response("bvalid"):
            await self.edge("bvalid")
        self.offer(bready=0)

    async def read(self, address: int) -> int:
        """With an answer that waits a while, in which it stays."""
        self.offer(arvalid=1, araddr=address)
        await self.edge("arready")
        self.offer(arvalid=0)
        await self.edge("rvalid")
        data = self.response("rdata")
        for _ in range(random.randrange(3)):
            await RisingEdge(self.dut.clk)
            assert self.response("rvalid") and self.response("rdata") == data
        self.offer(rready=1)
        await RisingEdge(self.dut.clk)
        assert self.response("rvalid") and self.response("rdata") == data
        self.offer(rready=0)
        return data


@behaviour()
async def registers_read_as_they_are_written_and_others_as_0(dut: Any) -> None:
    control = Control(dut)
    await control.begin()
    functions, pairs = int(dut.FUNCTIONS.value), int(dut.PAIRS.value)
    expected = {0x00: 0x5646_0001, 0x04: 1 << 24 | pairs << 16 | functions, 0x08: 9216}
    expected |= {DROPPED + 4 * at: word for at, word in enumerate(control.dropped)}
    for address, bits in WRITTEN.items():
        data = random.getrandbits(32)
        await control.write(address, data)
        expected[address] = data & bits
    for past in (0x0200, 0x8000, 0x0400):  # writes past the registers change none
        for address in random.sample(sorted(WRITTEN), 5):
            await control.write(past + address, random.getrandbits(32))
    side = expected[SELECT] >> 16
    expected |= {COUNTED + 4 * at: word for at, word in enumerate(control.counted[side])}
    addresses = [*range(0, 0x200, 4), *(random.randrange(0x200, 0x10000) & ~3 for _ in range(100))]
    random.shuffle(addresses)
    for address in addresses:
        if address != FAILED:  # the bits beside `valid` are those of any queue
            assert await control.read(address) == expected.get(address, 0), hex(address)
    assert not await control.read(FAILED) & 1


@behaviour()
async def counters_of_each_side_are_read_when_they_have_come(dut: Any) -> None:
    control = Control(dut)
    await control.begin()
    for side in (0, 1, 0):
        await control.write(SELECT, side << 16 | 2)
        asked = cocotb.start_soon(until(dut.clk, lambda: bool(dut.count_valid.value), LIMIT))
        await control.write(START, 8)
        await asked
        assert int(dut.number.value) == 2
        reading = cocotb.start_soon(control.read(COUNTED + 12))
        await cycles(dut.clk, 15)
        assert not reading.done()
        control.counted[side] = [random.getrandbits(32) for _ in range(10)]
        dut.counted.value = sum(
            word << 320 * n + 32 * at for n, words in enumerate(control.counted) for at, word in enumerate(words)
        )
        dut.counted_valid.value = 1 << side
        await RisingEdge(dut.clk)
        dut.counted_valid.value = 0
        assert await reading == control.counted[side][3]
        for at, word in enumerate(control.counted[side]):
            assert await control.read(COUNTED + 4 * at) == word


@behaviour()
async def a_doorbell_rings_once_for_the_queue_that_is_named_and_no_other_access_rings(dut: Any) -> None:
    control = Control(dut)
    await control.begin()
    queues = int(dut.FUNCTIONS.value) * int(dut.PAIRS.value)
    heard: list[tuple[int, int]] = []

    async def listen() -> None:
        while True:
            await RisingEdge(dut.clk)
            if bells := int(dut.bell_valid.value):
                heard.append((bells, int(dut.bell_queue.value)))

    listening = cocotb.start_soon(listen())
    rung: list[tuple[int, int]] = []
    for _ in range(60):
        side, queue = random.randrange(2), random.choice((*range(queues), queues, 0xFFFF))
        await control.write(BELL + 4 * side, queue)
        rung += [(1 << side, queue)] if queue < queues else []
        await control.write(0x68, random.getrandbits(32))
        await control.read(random.choice((0x68, BELL)))
    await cycles(dut.clk, 4)
    listening.cancel()
    assert heard == rung


@behaviour()
async def what_is_written_beside_reads_is_not_lost(dut: Any) -> None:
    """Accesses of both kinds at once."""
    control = Control(dut)
    await control.begin()
    word = 0
    for _ in range(200):
        new = random.getrandbits(32)
        writing = cocotb.start_soon(control.write(0x68, new))
        reading = cocotb.start_soon(control.read(random.choice((0x68, DROPPED + 8, 0x00))))
        found = await reading
        assert found in (word, new, control.dropped[2], 0x5646_0001)
        await writing
        word = new
        assert await control.read(0x68) == word
