"""What virtio's registers promise, after VIRTIO 1.2 (2.1, 2.2, 2.6.1, 3.1.1, 4.1.4, 5.1.4), to any number of drivers at
once: accesses of any size, stalls, an engine that takes its time. In virtio_by_window every second driver, from the
first on, reaches its registers by the window in configuration space alone."""

import random
from collections import deque
from functools import partial
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.bench_pcie_registers import REQ, RSP
from pcie.configuration import Configuration
from pcie.tlp import pack, unpack
from pcie.virtio_driver import (
    ACKNOWLEDGE,
    COMMON,
    DRIVER,
    DRIVER_OK,
    FEATURES_OK,
    NEEDS_RESET,
    NO_VECTOR,
    RING_PACKED,
    VERSION_1,
    PciWindow,
    Structure,
    VirtioDriver,
    Window,
)

from headrace.testing.streams import PERIOD_PS, behaviour, cycles, until

TELL = {
    **{"kind": 3, "receive": 1, "number": 16, "mergeable": 1, "indirect": 1, "event_index": 1, "checksum": 1},
    "segment": 1,
    **{"size": 16, "vector": 16, "ring": 64, "driver": 64, "device": 64},
}
BELL, BEGIN, STOP, LOOK, FAULT = range(5)
# What 5.1.3 and 6 name: CSUM, GUEST_CSUM, HOST_TSO4, HOST_TSO6, HOST_ECN, MRG_RXBUF, STATUS, INDIRECT_DESC, EVENT_IDX,
# VERSION_1, ACCESS_PLATFORM, RING_PACKED, ORDER_PLATFORM, NOTIFICATION_DATA, RING_RESET
OFFERED = sum(1 << bit for bit in (0, 1, 11, 12, 13, 15, 16, 28, 29, 32, 33, 34, 36, 38, 40))
MTU, MAC = 1 << 3, 1 << 5
STRUCTURES = {
    1: Structure(0, 0x0000, 0x40),
    2: Structure(0, 0x3000, 0x1000, 4),
    3: Structure(0, 0x1000, 1),
    4: Structure(0, 0x2000, 12),
}
FAULT_VECTOR = 2
WINDOW = 0x48  # the capability PCI_CFG


class Engine:
    """What the engine is told, and what it answers: a queue is quiet after `looks` looks."""

    def __init__(self, dut: Any, slow: bool = False) -> None:
        self.dut, self.slow = dut, slow
        self.told: list[dict[str, int]] = []
        self.begun: dict[tuple[int, int], dict[str, int]] = {}
        self.stopping: dict[tuple[int, int], int] = {}
        self.faults: deque[int] = deque()

    async def run(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if not dut.tell_valid.value:
                continue
            what = unpack(TELL, int(dut.tell.value))
            await cycles(dut.clk, random.randint(1, 40 if self.slow else 3))
            assert unpack(TELL, int(dut.tell.value)) == what
            self.told.append(what)
            self.act(what)
            dut.tell_done.value = 1
            await RisingEdge(dut.clk)
            dut.tell_done.value = 0
            for name in ("quiet", "fault_valid", "fault_queue"):
                getattr(dut, name).value = random.getrandbits(len(getattr(dut, name)))

    def act(self, what: dict[str, int]) -> None:
        queue = what["receive"], what["number"]
        if what["kind"] == BEGIN:
            assert queue not in self.begun, "a queue begins twice"
            assert 1 <= what["size"] <= 32768 and not what["ring"] % 16
            self.begun[queue] = what
        elif what["kind"] == STOP:
            assert queue in self.begun and queue not in self.stopping
            self.stopping[queue] = random.randint(0, 3)
        elif what["kind"] == LOOK:
            self.dut.quiet.value = int(not self.stopping[queue])
            if self.stopping[queue]:
                self.stopping[queue] -= 1
            else:
                del self.stopping[queue], self.begun[queue]
        elif what["kind"] == FAULT:
            self.dut.fault_valid.value = int(bool(self.faults))
            self.dut.fault_queue.value = self.faults.popleft() if self.faults else 0
        else:
            assert queue in self.begun and queue not in self.stopping, "a doorbell of a queue that isn't begun"


class Bench:
    """The block between drivers, the card's software, and an engine."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.functions, self.pairs = int(dut.FUNCTIONS.value), int(dut.PAIRS.value)
        self.first, self.size = int(dut.FIRST.value), int(dut.QUEUE_SIZE.value)
        self.vectors = int(dut.VECTORS.value)
        self.engine = Engine(dut)
        self.interrupts: list[tuple[int, int]] = []
        self.reset_done: list[int] = []
        self.cleared: list[int] = []
        self.turn = deque[object]()
        self.configuration = Configuration(dut) if hasattr(dut, "cfg_valid") else None
        self.drivers = [self.driver(function) for function in range(self.functions)]

    def driver(self, function: int) -> VirtioDriver:
        func = function + self.first
        window: Window = _Bar(self, func)
        if self.configuration and function % 2 == 0:
            read, write = self.configuration.read, self.configuration.write
            window = PciWindow(WINDOW, partial(read, func), partial(write, func))
        return VirtioDriver(window, STRUCTURES, lambda: cycles(self.dut.clk, 20))

    async def start(self, msix: bool = True) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("s_irq_valid", "axil_req", "flr_valid", "tell_done", "func", "bar", "m_irq_ready", "clear_ready"):
            getattr(dut, name).value = 0
        dut.msix_enabled.value = (1 << len(dut.msix_enabled)) - 1 if msix else 0
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        for task in (self.engine.run(), self.watch()):
            cocotb.start_soon(task)

    async def watch(self) -> None:
        dut = self.dut
        while True:
            dut.m_irq_ready.value, dut.clear_ready.value = random.getrandbits(1), random.getrandbits(1)
            await RisingEdge(dut.clk)
            if dut.m_irq_valid.value and dut.m_irq_ready.value:
                self.interrupts.append((int(dut.m_irq_func.value), int(dut.m_irq_vector.value)))
            if dut.clear_valid.value and dut.clear_ready.value:
                self.cleared.append(int(dut.clear_func.value))
            if dut.flr_done.value:
                self.reset_done.append(int(dut.flr_done_func.value))

    async def access(self, func: int, bar: int, **request: int) -> dict[str, int]:
        """One access, one at a time, as pcie_registers makes them."""
        dut, me = self.dut, object()
        self.turn.append(me)
        while self.turn[0] is not me:
            await RisingEdge(dut.clk)
        dut.func.value, dut.bar.value = func, bar
        dut.axil_req.value = pack(REQ, **request)
        taken = False
        while True:
            await RisingEdge(dut.clk)
            answer = unpack(RSP, int(dut.axil_rsp.value))
            if not taken and (answer["awready"] or answer["arready"]):
                taken = True
                dut.axil_req.value = pack(REQ, bready=request["bready"], rready=request["rready"])
            elif taken and (answer["bvalid"] or answer["rvalid"]):
                dut.axil_req.value = 0
                await cycles(dut.clk, random.choice((0, 0, 1, 3)))
                self.turn.popleft()
                return answer

    async def write(self, func: int, bar: int, offset: int, size: int, value: int) -> None:
        """The other bytes of the DW are noise."""
        lane = offset % 4
        mask = ((1 << 8 * size) - 1) << 8 * lane
        data = value << 8 * lane | random.getrandbits(32) & ~mask
        strobes = ((1 << size) - 1) << lane
        request = {"awaddr": offset - lane, "awvalid": 1, "wdata": data, "wstrb": strobes, "wvalid": 1}
        assert (await self.access(func, bar, **request, bready=1, rready=0))["bresp"] == 0

    async def read(self, func: int, bar: int, offset: int, size: int) -> int:
        request = {"araddr": offset - offset % 4, "arvalid": 1, "bready": 0, "rready": 1}
        answer = await self.access(func, bar, **request)
        assert answer["rresp"] == 0
        return answer["rdata"] >> 8 * (offset % 4) & ((1 << 8 * size) - 1)

    async def interrupt(self, func: int, vector: int) -> None:
        """By the engine."""
        dut = self.dut
        dut.s_irq_func.value, dut.s_irq_vector.value, dut.s_irq_valid.value = func, vector, 1
        await RisingEdge(dut.clk)
        while not dut.s_irq_ready.value:
            await RisingEdge(dut.clk)
        dut.s_irq_valid.value = 0

    async def function_level_reset(self, func: int) -> None:
        dut = self.dut
        done = self.reset_done.count(func)
        dut.flr_func.value, dut.flr_valid.value = func, 1
        await RisingEdge(dut.clk)
        while not dut.flr_ready.value:
            await RisingEdge(dut.clk)
        dut.flr_valid.value = 0
        await until(dut.clk, lambda: self.reset_done.count(func) == done + 1, 30000)

    async def quiet(self) -> None:
        await cycles(self.dut.clk, 2)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 20000)
        await cycles(self.dut.clk, 2)

    async def begin(self, function: int, features: int = OFFERED, vectors: bool = True) -> list[dict[str, int]]:
        """A driver with all queues, which gives what the engine must have been told of each."""
        driver = self.drivers[function]
        assert await driver.negotiate(features)
        if vectors:
            await driver.set("config_msix_vector", 0)
        expected = []
        for queue in range(2 * self.pairs):
            ring, first, second = (random.getrandbits(60) << 4 for _ in range(3))
            size = random.randint(1, self.size)
            vector = 1 + queue % (self.vectors - 1) if vectors else NO_VECTOR
            await driver.begin_queue(queue, size, (ring, first, second), vector)
            flags = {name: features >> bit & 1 for name, bit in (("mergeable", 15), ("indirect", 28))}
            expected.append(
                {
                    **{"kind": BEGIN, "receive": int(queue % 2 == 0), "number": function * self.pairs + queue // 2},
                    **flags,
                    **{"event_index": features >> 29 & 1, "checksum": features >> (1 - queue % 2) & 1, "size": size},
                    "segment": int(queue % 2 == 1 and features >> 11 & 3 != 0),
                    **{"vector": queue, "ring": ring, "driver": first, "device": second},
                }
            )
        assert not [one for one in self.engine.told if one in expected], "before DRIVER_OK"
        await driver.ready()
        return expected


class _Bar:
    """A function's BAR 0."""

    def __init__(self, bench: Bench, func: int) -> None:
        self.bench, self.func = bench, func

    async def read(self, bar: int, offset: int, size: int) -> int:
        return await self.bench.read(self.func, bar, offset, size)

    async def write(self, bar: int, offset: int, size: int, value: int) -> None:
        await self.bench.write(self.func, bar, offset, size, value)


@behaviour()
async def after_reset_registers_are_as_the_specification_says(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for driver in bench.drivers:
        assert await driver.offered() == OFFERED
        wanted = {"config_msix_vector": NO_VECTOR, "num_queues": 2 * bench.pairs, "device_status": 0}
        for name, value in {**wanted, "driver_feature": 0, "config_generation": 0}.items():
            assert await driver.get(name) == value, name
        for queue in range(2 * bench.pairs):
            await driver.set("queue_select", queue)
            assert await driver.get("queue_select") == queue
            for name in ("desc_lo", "desc_hi", "driver_lo", "driver_hi", "device_lo", "device_hi", "enable", "reset"):
                assert await driver.get(f"queue_{name}") == 0, name
            assert await driver.get("queue_size") == bench.size
            assert await driver.get("queue_msix_vector") == NO_VECTOR
        for queue in (2 * bench.pairs, 0x8000):
            await driver.set("queue_select", queue)
            assert await driver.get("queue_size") == 0, "a queue that there isn't"
        assert await driver.config(6, 2) == 1, "the link is up"
        assert await driver.config(8, 2) == bench.pairs
        assert await driver.isr() == 0
        await driver.set("device_feature_select", 2)
        assert await driver.get("device_feature") == 0


@behaviour()
async def fields_keep_what_is_written_in_any_size(dut: Any) -> None:
    """Drivers of several functions at once, fields in any order, against a copy of each."""
    bench = Bench(dut)
    await bench.start()
    plain = ("device_feature_select", "driver_feature_select", "queue_select", "config_msix_vector")
    queued = [name for name in COMMON if name.startswith("queue_") and name.endswith(("lo", "hi", "size", "vector"))]

    async def one(driver: VirtioDriver) -> None:
        kept: dict[tuple[str, int], int] = {}
        halves: dict[int, int] = {}
        await driver.set("queue_select", 0)
        await driver.set("driver_feature_select", 0)
        selected = half = 0
        for _ in range(60):
            name = random.choice([*plain, *queued, "driver_feature"])
            value = random.getrandbits(8 * COMMON[name][1])
            if name == "queue_select":
                value %= 2 * bench.pairs
            if name == "driver_feature_select":
                value %= 2
            await driver.set(name, value)
            if name.endswith("vector"):
                value = value if value < bench.vectors else NO_VECTOR
            if name == "queue_select":
                selected = value
            if name == "driver_feature_select":
                half = value
            if name == "driver_feature":
                halves[half] = value
                assert await driver.get(name) == value
            else:
                kept[name, selected if name in queued else 0] = value
            looked, of = random.choice(list(kept) or [("queue_select", 0)])
            if looked not in queued or of == selected:
                assert await driver.get(looked) == kept.get((looked, of), 0), looked
        for half, value in halves.items():
            await driver.set("driver_feature_select", half)
            assert await driver.get("driver_feature") == value

    tasks = [cocotb.start_soon(one(driver)) for driver in bench.drivers]
    for task in tasks:
        await task
    assert not bench.engine.told


@behaviour()
async def features_are_agreed_upon_or_refused(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    driver = bench.drivers[-1]
    for _ in range(12):
        wanted = VERSION_1 | RING_PACKED | random.getrandbits(64) & OFFERED
        missing = random.choice((0, 0, VERSION_1, RING_PACKED))
        extra = random.choice((0, 0, 1 << random.choice([bit for bit in range(64) if not OFFERED >> bit & 1])))
        agreed = await driver.negotiate(wanted & ~missing | extra)
        assert agreed == (not missing and not extra)
        if not agreed:
            await driver.ready()
            assert not await driver.get("device_status") & (DRIVER_OK | FEATURES_OK)
        else:
            await driver.set("driver_feature", 0)
            assert await driver.get("driver_feature") == wanted >> 32, "after FEATURES_OK they stay"
    assert not bench.engine.told


@behaviour()
async def queues_begin_with_driver_ok_and_ring(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    driver = bench.drivers[0]
    for function in reversed(range(bench.functions)):
        features = VERSION_1 | RING_PACKED | random.getrandbits(64) & OFFERED
        expected = await bench.begin(function, features)
        assert bench.engine.told == expected
        bench.engine.told.clear()
    for queue in (0, 1, 2 * bench.pairs, 77):
        for data in (queue, random.getrandbits(16) << 16 | queue):
            offset, size = (STRUCTURES[2].offset + 4 * queue, 2 if data == queue else 4)
            await bench.write(bench.first, 0, offset, size, data)
    told = [(one["kind"], one["receive"], one["number"]) for one in bench.engine.told]
    assert told == [(BELL, 1, 0), (BELL, 1, 0), (BELL, 0, 0), (BELL, 0, 0)], told
    await driver.set("queue_select", 0)
    await driver.set("queue_desc_lo", 0x1230)
    assert await driver.get("queue_desc_lo") != 0x1230, "what is enabled stays"
    for queue in range(2 * bench.pairs):
        await driver.set("queue_select", queue)
        assert await driver.get("queue_notify_off") == queue


@behaviour()
async def a_doorbell_before_driver_ok_rings_nothing(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    driver = bench.drivers[0]
    await driver.notify(0, 0)
    assert await driver.negotiate(VERSION_1 | RING_PACKED)
    await driver.begin_queue(0, 1, (0, 0, 0), NO_VECTOR)
    await driver.notify(0, 0)
    assert not bench.engine.told
    await driver.ready()
    await driver.notify(1, 1)
    assert [one["kind"] for one in bench.engine.told] == [BEGIN], "a queue that is not enabled"
    # One that is enabled later
    await driver.begin_queue(1, 2, (16, 32, 48), NO_VECTOR)
    await driver.notify(1, 1)
    assert [one["kind"] for one in bench.engine.told] == [BEGIN, BEGIN, BELL]


@behaviour()
async def resets_wait_for_the_engine_and_leave_others_alone(dut: Any) -> None:
    """Device resets, resets of a queue, function-level resets, at random, beside accesses of other functions."""
    bench = Bench(dut)
    bench.engine.slow = True
    await bench.start()
    asked: list[int] = []

    async def one(function: int) -> None:
        driver = bench.drivers[function]
        mine = [(side, function * bench.pairs + pair) for side in range(2) for pair in range(bench.pairs)]
        for _ in range(3):
            await bench.begin(function)
            assert all(queue in bench.engine.begun for queue in mine)
            way = random.choice(("device", "queue", "function"))
            if way == "device":
                await driver.reset()
            elif way == "queue":
                queue = random.randrange(2 * bench.pairs)
                name = (int(queue % 2 == 0), function * bench.pairs + queue // 2)
                await driver.reset_queue(queue)
                assert name not in bench.engine.begun and len([one for one in mine if one in bench.engine.begun]) == (
                    2 * bench.pairs - 1
                )
                assert await driver.get("device_status") & DRIVER_OK
                assert await driver.get("queue_desc_lo") == 0 and await driver.get("queue_size") == bench.size
                await driver.begin_queue(queue, 1, (0, 0, 0), NO_VECTOR)
                assert name in bench.engine.begun
                continue
            else:
                asked.append(function + bench.first)
                await bench.function_level_reset(function + bench.first)
            assert not [queue for queue in mine if queue in bench.engine.begun], way
            assert await driver.get("device_status") == 0
            assert await driver.get("driver_feature") == 0 and await driver.get("config_msix_vector") == NO_VECTOR
            assert await driver.get("queue_enable") == 0

    for function in range(bench.functions):
        await one(function)
    assert bench.cleared == bench.reset_done == asked


@behaviour()
async def two_functions_reset_at_once(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for function in range(bench.functions):
        await bench.begin(function)
    victims = bench.drivers[: bench.functions - 1]
    tasks = [cocotb.start_soon(driver.reset()) for driver in victims]
    other = bench.drivers[-1]
    for _ in range(20):
        assert await other.get("device_status") == ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK
        await other.notify(0, 0)
    for task in tasks:
        await task
    await bench.quiet()
    assert {number // bench.pairs for _, number in bench.engine.begun} == {bench.functions - 1}


@behaviour()
async def interrupts_come_by_the_vector_that_was_chosen(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    expected = []
    for function in range(bench.functions):
        await bench.begin(function)
    for _ in range(60):
        function, queue = random.randrange(bench.functions), random.randrange(2 * bench.pairs)
        driver = bench.drivers[function]
        if random.random() < 0.3:
            await driver.set("queue_select", queue)
            vector = random.choice((NO_VECTOR, *range(bench.vectors)))
            await driver.set("queue_msix_vector", vector)
        await driver.set("queue_select", queue)
        vector = await driver.get("queue_msix_vector")
        if vector != NO_VECTOR:
            expected.append((function + bench.first, vector))
        await bench.interrupt(function + bench.first, queue)
    await bench.interrupt(0, 7)  # of the card's own function, which goes through
    expected.append((0, 7))
    await bench.quiet()
    assert bench.interrupts == expected
    assert [await driver.isr() for driver in bench.drivers] == [0] * bench.functions


@behaviour()
async def without_msix_isr_tells(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(msix=False)
    for function in range(bench.functions):
        await bench.begin(function, vectors=False)
    await bench.interrupt(bench.first, 1)
    await bench.write(0, 4, 6, 2, 0)  # the link of function 0 goes down
    await bench.quiet()
    assert [await bench.drivers[0].isr() for _ in range(2)] == [3, 0], "reading clears it"
    assert await bench.drivers[-1].isr() == 0
    assert not bench.interrupts


@behaviour()
async def a_failed_queue_asks_for_a_reset(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for function in range(bench.functions):
        await bench.begin(function)
    last = bench.functions - 1
    bench.engine.faults.extend([last * bench.pairs, last * bench.pairs + bench.pairs - 1])
    await bench.interrupt(0, FAULT_VECTOR)
    await bench.quiet()
    assert bench.interrupts == [(last + bench.first, 0)] * 2
    statuses = [await driver.get("device_status") & NEEDS_RESET for driver in bench.drivers]
    assert statuses == [0] * last + [NEEDS_RESET]
    await bench.drivers[-1].ready()
    assert await bench.drivers[-1].get("device_status") & NEEDS_RESET, "the driver can't take it back"
    await bench.drivers[-1].reset()
    await bench.begin(last)
    assert not await bench.drivers[-1].get("device_status") & NEEDS_RESET


@behaviour()
async def software_gives_devices_their_configuration(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for function in range(bench.functions):
        await bench.begin(function)
    for function, driver in enumerate(bench.drivers):
        before = await driver.get("config_generation")
        mac, mtu = random.randbytes(6), random.randrange(68, 9000)
        for offset in range(6):
            await bench.write(0, 4, 16 * function + offset, 1, mac[offset])
        await bench.write(0, 4, 16 * function + 10, 2, mtu)
        await bench.write(0, 4, 16 * function + 12, 4, (OFFERED | MAC | MTU | 1 << 27) & 0xFFFF_FFFF)
        assert bytes([await driver.config(offset, 1) for offset in range(6)]) == mac
        assert await driver.config(10, 2) == mtu
        assert await driver.config(12, 4) == 0
        assert await bench.read(0, 4, 16 * function, 4) == int.from_bytes(mac[:4], "little")
        assert await driver.get("config_generation") == (before + 8) % 256
        assert await driver.offered() == OFFERED | MAC | MTU, "what there isn't is not offered"
        where = STRUCTURES[4]
        await bench.write(bench.first + function, 0, where.offset, 4, 0)
        assert await driver.config(0, 1) == mac[0], "a driver can't write it"
    await bench.quiet()
    assert bench.interrupts == [(function + bench.first, 0) for function in range(bench.functions) for _ in range(8)]
    assert await bench.read(0, 0, 0, 4) == 0 and await bench.read(bench.first + bench.functions, 0, 0x2004, 4) == 0
