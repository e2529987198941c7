"""The function engine behind PCI Express, from the bus: a root complex enumerates, drivers that know the specification
alone find their devices, and exchange packets with them through queues in the host's memory. The same for every
hard IP."""

import logging
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.caps import PciCapId
from cocotbext.pcie.core.caps.common import PciCap
from host.packed import Buffer, Driver
from pcie.blocks import Block, Stratix10, UltraScale
from pcie.configuration import Configuration
from pcie.machine import reset
from pcie.virtio_driver import (
    ACCESS_PLATFORM,
    COMMON_CFG,
    DEVICE_CFG,
    ISR_CFG,
    NEEDS_RESET,
    NOTIFY_CFG,
    PCI_CFG,
    RING_PACKED,
    RING_RESET,
    VERSION_1,
    PciWindow,
    Structure,
    VirtioDriver,
    Window,
)

from headrace.testing.streams import bursts, cycles, until

BLOCKS: dict[str, Callable[[Any, int], Block]] = {"host_on_ultrascale": UltraScale, "host_on_stratix10": Stratix10}
FUNCTIONS = 2
TIMEOUT = {"timeout": 20000, "timeout_unit": "ns"}
HEADER = 12  # virtio_net_hdr
ROOM = 2048
SIZE = 16
WANTED = VERSION_1 | RING_PACKED | ACCESS_PLATFORM | RING_RESET
RECEIVE, TRANSMIT = 0, 1


def behaviour() -> Any:
    """Decorator of a cocotb test."""
    return cocotb.test(timeout_time=2, timeout_unit="ms")


class Capability(PciCap):
    """One whose registers user logic has."""

    def __init__(self, configuration: Configuration, func: int, dwords: int) -> None:
        super().__init__()
        self.configuration, self.func, self.length, self.cap_id = configuration, func, dwords, PciCapId.VNDR

    async def _read_register(self, reg: int) -> int:
        return await self.configuration.read(self.func, 4 * (self.offset + reg), 4)

    async def _write_register(self, reg: int, data: int, mask: int) -> None:
        hit, _ = await self.configuration.access(self.func, self.offset + reg, mask, data)
        assert hit


class Memory:
    """A part of the host's memory, by absolute address."""

    def __init__(self, root: RootComplex, size: int) -> None:
        self.region = root.mem_pool.alloc_region(size)
        self.base = self.region.get_absolute_address(0)
        self.next = self.base
        self.region[:] = bytes(size)

    def take(self, count: int, align: int = 64) -> int:
        """An address of so many bytes."""
        at = -(-self.next // align) * align
        self.next = at + count
        assert self.next <= self.base + self.region.size
        return at

    def read(self, address: int, count: int) -> bytes:
        return bytes(self.region[address - self.base : address - self.base + count])

    def write(self, address: int, data: bytes) -> None:
        self.region[address - self.base : address - self.base + len(data)] = data


@dataclass
class Device:
    """A function with its driver: two queues, and a word for each interrupt."""

    machine: "Machine"
    number: int  # of the function on the bus
    found: Any
    expected: list[bytes] = field(default_factory=list)
    echoed: int = 0
    free: list[int] = field(default_factory=list)

    async def read(self, bar: int, offset: int, size: int) -> int:
        data = await self.machine.root.mem_read(self.found.bar_addr[bar] + offset, size, **TIMEOUT)
        return int.from_bytes(data, "little")

    async def write(self, bar: int, offset: int, size: int, value: int) -> None:
        await self.machine.root.mem_write(self.found.bar_addr[bar] + offset, value.to_bytes(size, "little"))

    async def configuration_read(self, address: int, size: int) -> int:
        return int.from_bytes(await self.found.config_read(address, size), "little")

    async def configuration_write(self, address: int, size: int, value: int) -> None:
        await self.found.config_write(address, value.to_bytes(size, "little"))

    async def find(self, by_window: bool = False) -> None:
        """Walk the capabilities (4.1.4), and give each MSI-X vector a word of memory. The driver reaches its BARs
        themselves, or by the window in configuration space alone."""
        config = self.found.config_read
        assert struct.unpack("<HH", await config(0, 4)) == (0x1AF4, 0x1041)
        structures, places = {}, {}
        at = (await config(0x34, 1))[0]
        while at:
            kind, following, length, cfg_type = await config(at, 4)
            if kind == PciCapId.VNDR:
                bar, offset, size = struct.unpack("<B3xII", await config(at + 4, 12))
                multiplier = struct.unpack("<I", await config(at + 16, 4))[0] if cfg_type == NOTIFY_CFG else 0
                assert length == (20 if cfg_type in (NOTIFY_CFG, PCI_CFG) else 16)
                structures[cfg_type], places[cfg_type] = Structure(bar, offset, size, multiplier), at
            at = following
        assert sorted(structures) == [COMMON_CFG, NOTIFY_CFG, ISR_CFG, DEVICE_CFG, PCI_CFG]
        self.window: Window = self
        if by_window:
            self.window = PciWindow(places[PCI_CFG], self.configuration_read, self.configuration_write)
        self.driver = VirtioDriver(self.window, structures, lambda: cycles(self.machine.dut.clk, 50))
        self.memory = Memory(self.machine.root, 1 << 17)
        self.words = self.memory.take(32)
        for vector in range(3):
            place = self.words + 8 * vector
            for number, word in enumerate((place & 0xFFFF_FFFF, place >> 32, vector + 1, 0)):
                await self.window.write(2, 16 * vector + 4 * number, 4, word)

    def told(self, vector: int) -> bool:
        """Whether its interrupt has come, since this was last asked."""
        came = self.memory.read(self.words + 8 * vector, 4) == (vector + 1).to_bytes(4, "little")
        self.memory.write(self.words + 8 * vector, bytes(4))
        return came

    async def begin(self) -> None:
        """Negotiate and set both queues up, with buffers to receive in."""
        driver = self.driver
        assert await driver.negotiate(WANTED), hex(await driver.offered())
        assert await driver.get("num_queues") == 2
        await driver.set("config_msix_vector", 0)
        self.queues, self.bells = [], []
        self.memory.next = self.words + 32
        for queue in (RECEIVE, TRANSMIT):
            self.queues.append(self.ring())
            await self.begin_queue(queue)
            self.bells.append(await driver.get("queue_notify_off"))
        self.free = [self.memory.take(ROOM) for _ in range(SIZE)]
        self.expected.clear()
        await driver.ready()
        await self.fill()

    def ring(self) -> Driver:
        ring, ours, theirs = self.memory.take(16 * SIZE, 16), self.memory.take(4, 4), self.memory.take(4, 4)
        return Driver(self.memory, SIZE, ring, ours, theirs, random=random.Random(self.number))

    async def begin_queue(self, queue: int) -> None:
        ring = self.queues[queue]
        await self.driver.begin_queue(queue, SIZE, (ring.ring, ring.driver, ring.device), 1 + queue)

    async def fill(self) -> None:
        """Give the receive queue buffers."""
        for _ in range(SIZE // 2):
            self.queues[RECEIVE].add([Buffer(self.memory.take(ROOM), ROOM, writable=True)])
        await self.driver.notify(RECEIVE, self.bells[RECEIVE])

    async def send(self) -> None:
        """A packet, in one buffer or two."""
        place = self.free.pop()
        frame = random.randbytes(random.choice((60, 61, 64, 300, random.randint(60, 1514))))
        cut = random.choice((HEADER + len(frame), HEADER, random.randint(1, HEADER + len(frame) - 1)))
        self.memory.write(place, bytes(HEADER) + frame)
        parts = [(place, cut), (place + cut, HEADER + len(frame) - cut)]
        self.queues[TRANSMIT].add([Buffer(at, count) for at, count in parts if count])
        self.expected.append(frame)
        if self.queues[TRANSMIT].notify():
            await self.driver.notify(TRANSMIT, self.bells[TRANSMIT])

    async def collect(self) -> None:
        """What interrupts say is there: packets that came back, in order, and buffers that were sent."""
        if self.told(1 + RECEIVE):
            for one in self.queues[RECEIVE].used():
                (buffer,) = one.chain.buffers
                data = self.memory.read(buffer.address, one.written)
                assert data[HEADER:] == self.expected.pop(0)
                assert struct.unpack("<H", data[10:HEADER]) == (1,), "num_buffers"
                self.echoed += 1
                self.queues[RECEIVE].add([buffer])
            if self.queues[RECEIVE].notify():
                await self.driver.notify(RECEIVE, self.bells[RECEIVE])
        if self.told(1 + TRANSMIT):
            for one in self.queues[TRANSMIT].used():
                self.free.append(one.chain.buffers[0].address)

    async def exchange(self, count: int) -> None:
        """Send so many packets, all of which must come back."""
        before, sent = self.echoed, 0
        for _ in range(3000):
            await self.collect()
            if self.echoed == before + count:
                return
            if sent < count and len(self.expected) < SIZE // 2 and self.queues[TRANSMIT].room(2) and self.free:
                await self.send()
                sent += 1
            else:
                await cycles(self.machine.dut.clk, 40)
        raise AssertionError(f"{self.echoed - before} of {sent} packets came back")


class Machine:
    """A host with the card behind a model of its hard IP: function 0 is the card's own."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    async def start(self) -> list[Device]:
        dut = self.dut
        for name in ("time_ns", "timeout"):
            getattr(dut, name).value = 0
        configuration = Configuration(dut)
        await reset(dut)
        self.block: Block = BLOCKS[dut._name](dut, 1 + FUNCTIONS)
        device = self.block.device
        for number, one in enumerate(device.functions):
            one.configure_bar(0, 1 << 16 if number == 0 else 1 << 14)
            one.configure_bar(2, 1 << 12)
            if number == 0:
                one.configure_bar(4, 1 << 12)
                continue
            one.vendor_id, one.device_id, one.class_code = 0x1AF4, 0x1041, 0x020000
            for place, dwords in zip((0xB0, 0xC0, 0xD4, 0xE4, 0x48), (4, 5, 4, 4, 5), strict=True):
                one.register_capability(Capability(configuration, number, dwords), place // 4)
        self.root = RootComplex()
        self.root.max_payload_size = 1
        self.root.make_port().connect(device)
        for name in ("cocotb.pcie", f"cocotb.{dut._name}"):
            logging.getLogger(name).setLevel(logging.ERROR)
        await cycles(dut.clk, 10)
        await until(dut.clk, lambda: not dut.rst.value, 1000)
        await self.root.enumerate()
        self.own, *found = [self.root.find_device(one.pcie_id) for one in device.functions]
        for one in (self.own, *found):
            await one.enable_device()
            await one.set_master()
            await one.capability_write_word(PciCapId.MSIX, 2, 0x8000)
        await cycles(dut.clk, 300)
        return [Device(self, number, one) for number, one in enumerate(found, 1)]


@behaviour()
async def drivers_find_their_devices_and_exchange_packets(dut: Any) -> None:
    machine = Machine(dut)
    devices = await machine.start()
    selection = machine.own.bar_addr[0] + 0x40  # which queue the card's software looks at
    await machine.root.mem_write_dword(selection, 0x10001)
    for device in devices:
        await device.find()
        await device.begin()
    tasks = [cocotb.start_soon(device.exchange(24)) for device in devices]
    for task in tasks:
        await task
    # The card's software, beside them, reads its registers: the engine's, and the devices' configurations.
    assert await machine.root.mem_read_dword(machine.own.bar_addr[0], **TIMEOUT) == 0x56460001
    assert await machine.root.mem_read_dword(selection, **TIMEOUT) == 0x10001, "drivers leave that alone"
    await machine.root.mem_write(machine.own.bar_addr[4] + 16, b"\x02\x00\x00\x00\x00\x07")
    assert await devices[1].driver.config(4, 2) == 0x0700
    await cycles(dut.clk, 100)
    assert [device.told(0) for device in devices] == [False, True], "an interrupt of the configuration"


@behaviour()
async def a_driver_has_the_window_alone(dut: Any) -> None:
    """For all that it sets up, its interrupts' table and its doorbells, beside one that has the BARs; stalls
    everywhere."""
    machine = Machine(dut)
    devices = await machine.start()
    for stream in machine.block.streams:
        stream.set_pause_generator(bursts())

    async def one(device: Device, by_window: bool) -> None:
        await device.find(by_window)
        await device.begin()
        await device.exchange(16)
        await device.driver.reset()
        await device.begin()
        await device.exchange(4)

    tasks = [cocotb.start_soon(one(device, number == 0)) for number, device in enumerate(devices)]
    for task in tasks:
        await task
    # Without MSI-X, ISR status is read by the window, which clears it.
    device = devices[0]
    await device.found.capability_write_word(PciCapId.MSIX, 2, 0)
    await cycles(dut.clk, 300)
    await device.send()
    await until(dut.clk, lambda: bool(dut.passed.value), 5000)
    await cycles(dut.clk, 1000)
    assert [await device.driver.isr() for _ in range(2)] == [1, 0]


@behaviour()
async def a_device_is_reset_while_another_goes_on(dut: Any) -> None:
    """By its status, and by a function-level reset, each with packets under way; then it works again."""
    machine = Machine(dut)
    victim, other = await machine.start()
    for device in (victim, other):
        await device.find()
        await device.begin()
    for way in ("status", "function"):
        traffic = cocotb.start_soon(other.exchange(12))
        for _ in range(6):
            await victim.send()
        await cycles(dut.clk, random.randrange(200))
        if way == "status":
            await victim.driver.reset()
        else:
            await machine.block.reset_function(victim.number)
        before = victim.memory.read(victim.memory.base, 1 << 17)
        await cycles(dut.clk, 1000)
        assert victim.memory.read(victim.memory.base, 1 << 17) == before, "the device writes after its reset"
        assert await victim.driver.get("device_status") == 0
        await traffic
        if way == "function":  # which has taken its vectors too
            await victim.find()
        await victim.begin()
        await victim.exchange(8)


@behaviour()
async def a_reset_waits_for_reads_in_flight(dut: Any) -> None:
    machine = Machine(dut)
    device, other = await machine.start()
    for one in (device, other):
        await one.find()
        await one.begin()
    await device.send()
    await machine.block.hold_completions(True)
    await device.send()
    await cycles(dut.clk, 200)
    await device.driver.set("device_status", 0)
    await cycles(dut.clk, 2000)
    assert await device.driver.get("device_status") != 0
    await machine.block.hold_completions(False)
    await device.driver.reset()
    await other.exchange(3)


@behaviour()
async def a_queue_is_reset_alone(dut: Any) -> None:
    machine = Machine(dut)
    device, other = await machine.start()
    for one in (device, other):
        await one.find()
        await one.begin()
    await device.exchange(5)
    await device.driver.reset_queue(TRANSMIT)
    device.queues[TRANSMIT] = device.ring()
    await device.begin_queue(TRANSMIT)
    await device.exchange(5)
    await other.exchange(3)


@behaviour()
async def a_queue_that_lies_asks_for_a_reset(dut: Any) -> None:
    machine = Machine(dut)
    liar, other = await machine.start()
    for device in (liar, other):
        await device.find()
        await device.begin()
    liar.queues[TRANSMIT].add([Buffer(1 << 60, 100)])  # memory that isn't there
    await liar.driver.notify(TRANSMIT, liar.bells[TRANSMIT])
    await until(dut.clk, lambda: liar.told(0), 5000)
    assert await liar.driver.get("device_status") & NEEDS_RESET
    await other.exchange(4)
    assert not await other.driver.get("device_status") & NEEDS_RESET
    await liar.begin()
    await liar.exchange(4)
