"""What the devices' part of configuration space promises (VIRTIO 1.2, 4.1.4 and 4.1.4.9): capabilities as drivers find
them, and a window whose reads and writes are accesses of the BARs, each once."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.bench_pcie_registers import OKAY, REQ, SLVERR, Place, Registers
from pcie.configuration import Configuration
from pcie.tlp import unpack

from headrace.testing.streams import PATTERNS, PERIOD_PS, Stalls, behaviour, cycles, never, until

BAR_BYTES = {0: 1 << 14, 2: 1 << 12}
PLACES = {0xB0: 4, 0xC0: 5, 0xD4: 4, 0xE4: 4, 0x48: 5}  # of the capabilities, in their order: DWs
WINDOW = 0x48


def listed(pairs: int) -> dict[int, int]:
    """The DWs of struct virtio_pci_cap and its like, by address, with the structures where docs/pcie.md has them."""
    structures = ((0x0000, 64), (0x3000, 8 * pairs), (0x1000, 1), (0x2000, 12), (0, 0))
    words = {}
    for (place, count), (offset, length), following, kind in zip(
        PLACES.items(), structures, [*list(PLACES)[1:], 0], range(1, 6), strict=True
    ):
        more = [4] if kind == 2 else [0] * (count - 4)
        dwords = [kind << 24 | 4 * count << 16 | following << 8 | 9, 0, offset, length, *more]
        words.update({place + 4 * number: word for number, word in enumerate(dwords)})
    return words


class Device:
    """The model of a function: what its driver has written in the window."""

    def __init__(self, pairs: int) -> None:
        self.words = listed(pairs)
        self.window = bytearray(20)  # from the capability's beginning on

    def read(self, address: int) -> int:
        if 4 <= address - WINDOW < 20:
            return int.from_bytes(self.window[address - WINDOW :][:4], "little")
        return self.words[address]

    def write(self, address: int, strobes: int, data: bytes) -> None:
        for lane in range(4):
            at = address + lane - WINDOW
            if strobes >> lane & 1 and at in (4, *range(8, 20)):
                self.window[at] = data[lane]

    def access(self) -> tuple[int, int, int] | None:
        """BAR, offset and bytes that pci_cfg_data stands for."""
        fields = ((4, 1), (8, 4), (12, 4))
        bar, offset, length = (int.from_bytes(self.window[at:][:size], "little") for at, size in fields)
        if length in (1, 2, 4) and offset % length == 0 and offset < BAR_BYTES.get(bar, 0):
            return bar, offset, length
        return None


class Bench:
    """The block between a host's configuration accesses and registers."""

    def __init__(self, dut: Any, stalls: Stalls, bad: Any = lambda _: OKAY) -> None:
        self.dut, self.bad = dut, bad
        self.first, self.functions, pairs = (int(getattr(dut, name).value) for name in ("FIRST", "FUNCTIONS", "PAIRS"))
        self.registers, self.model = Registers(dut, stalls, bad), Registers(dut, never(), bad)
        self.configuration = Configuration(dut)
        self.devices = {self.first + number: Device(pairs) for number in range(self.functions)}

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("axil_rsp", "flr_done", "flr_done_func"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        cocotb.start_soon(self.registers.run())

    async def reset(self, func: int) -> None:
        """A function-level reset ends."""
        self.dut.flr_done_func.value, self.dut.flr_done.value = func, 1
        await RisingEdge(self.dut.clk)
        self.dut.flr_done.value = 0

    def expect(self, func: int, address: int, strobes: int, data: int) -> int:
        """Do the access in the model; what is read."""
        device = self.devices[func]
        device.write(address, strobes, data.to_bytes(4, "little"))
        access = device.access() if address == WINDOW + 16 else None
        if access:
            bar, offset, length = access
            lane = offset % 4
            place: Place = (func, bar, offset - lane)
            old = self.model.read(place).to_bytes(4, "little")
            self.model.done.append(("write" if strobes else "read", place))
            if strobes:
                new = old[:lane] + device.window[16 : 16 + length] + old[lane + length :]
                self.model.words[place] = int.from_bytes(new, "little")
            else:
                device.window[16 : 16 + length] = bytes(b"\xff" * 4 if self.bad(place) else old)[lane : lane + length]
        return device.read(address)

    async def access(self, func: int, address: int, strobes: int = 0, data: int = 0) -> None:
        """One access, in the block and in the model."""
        answer = await self.configuration.access(func, address // 4, strobes, data)
        wanted = self.expect(func, address, strobes, data)
        assert answer[0] and (strobes or answer[1] == wanted), (func, hex(address), answer, wanted)

    async def some(self) -> None:
        """Something that drivers do, and what they shouldn't."""
        func = random.choice(list(self.devices))
        if random.random() < 0.3:
            length = random.choice((1, 2, 4))
            for word, value in ((4, random.choice((0, 2))), (8, length * random.randrange(16)), (12, length)):
                await self.access(func, WINDOW + word, 15, value)
        word = random.choice((4, 8, 12, 16, 16, 16))
        strobes = random.choice((0, 15, 15, random.getrandbits(4)))
        good = {
            4: random.choice((0, 0, 2, 1, 7, 0x10)),
            8: random.choice((0, 0x1000, 0xFFC, 0x3FFC, 0x4000, 0xFFFF_FFFC)) + random.choice((0, 0, 1, 2, 3)),
            12: random.choice((1, 2, 4, 4, 0, 3, 8, 0x101)),
        }
        await self.access(func, WINDOW + word, strobes, good.get(word, random.getrandbits(32)))

    def check(self) -> None:
        assert self.registers.done == self.model.done
        assert self.registers.words == self.model.words


@behaviour()
async def capabilities_are_as_the_specification_says(dut: Any) -> None:
    bench = Bench(dut, never())
    await bench.start()
    for func, device in bench.devices.items():
        for address in range(0, 4096, 4):
            answer = await bench.configuration.access(func, address // 4, 0, 0)
            assert answer == ((1, device.read(address)) if address in device.words else (0, 0)), hex(address)
    for func in (0, bench.first - 1, bench.first + bench.functions, 0xFFFF):
        assert await bench.configuration.access(func, WINDOW // 4, 0, 0) == (0, 0), "no device"
    for address in bench.devices[bench.first].words:
        if not 4 <= address - WINDOW < 20:
            await bench.access(bench.first, address, 15, random.getrandbits(32))
            await bench.access(bench.first, address)
    bench.check()


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def any_accesses_of_the_window_under_any_stalls(dut: Any, stalls: Any) -> None:
    bench = Bench(dut, stalls())
    await bench.start()
    for _ in range(300):
        await bench.some()
        if random.random() < 0.02:
            func = random.choice(list(bench.devices))
            bench.devices[func].window[:] = bytes(20)
            await bench.reset(func)
    assert {kind for kind, _ in bench.model.done} == {"read", "write"} and len(bench.model.done) > 30
    bench.check()


@behaviour()
async def an_error_reads_as_ones(dut: Any) -> None:
    bench = Bench(dut, never(), lambda place: random.Random(repr(place)).choice((OKAY, SLVERR)))
    await bench.start()
    for _ in range(300):
        await bench.some()
    bench.check()


@behaviour()
async def a_reset_in_mid_access_lets_it_end_and_makes_the_window_new(dut: Any) -> None:
    bench = Bench(dut, random.choice(PATTERNS)())
    await bench.start()
    for _ in range(20):
        func = random.choice(list(bench.devices))
        for word, value in ((4, 0), (8, 4 * random.randrange(64)), (12, 4)):
            await bench.access(func, WINDOW + word, 15, value)
        access = cocotb.start_soon(
            bench.access(func, WINDOW + 16, random.choice((0, 15)), random.getrandbits(32)),
        )
        request = {"awvalid": 0, "arvalid": 0}
        while not request["awvalid"] and not request["arvalid"]:
            await RisingEdge(dut.clk)
            request = unpack(REQ, int(dut.axil_req.value))
        await bench.reset(func)
        await access
        bench.devices[func].window[:] = bytes(20)
        for word in (4, 8, 12, 16):
            await bench.access(func, WINDOW + word)
    await until(dut.clk, lambda: bool(dut.idle.value), 10)
    bench.check()
