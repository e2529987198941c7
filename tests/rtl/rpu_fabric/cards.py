"""A card around the fabric: sources, units that obey the rules of slots, and ports, each with an account of packets."""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from rpu_fabric.flows import KEY

from headrace.testing.streams import PERIOD_PS, Stalls, never

ROUND_ROBIN, LEAST_LOADED, FLOW_HASH = range(3)
HOST, LOOPBACK = 2, 3
TO_UNIT = 1 << 8
EVERY = (1 << 16) - 1

Beat = tuple[bytes, bool]


@dataclass
class Settings:
    """What software sets."""

    policy: int = ROUND_ROBIN
    enable: int = EVERY
    receive: list[int] = field(default_factory=lambda: [EVERY] * 4)
    open: int = 15
    hold: int = 0
    prefix: int = 0

    def word(self) -> int:
        """As the packed struct."""
        value = self.policy << 16 | self.enable
        for mask in reversed(self.receive):
            value = value << 16 | mask
        return (value << 10 | self.open << 6 | self.hold << 4 | self.prefix) << 320 | int.from_bytes(KEY, "big")


@dataclass
class Arrival:
    """A packet as a unit got it."""

    data: bytes
    port: int
    slot: int
    cycle: int


@dataclass
class Unit:
    """Firmware that sends each packet on after a while, in order, and frees its slot when it has gone."""

    number: int
    slots: int
    ready: Stalls = field(default_factory=never)
    valid: Stalls = field(default_factory=never)
    work: Callable[[], int] = lambda: 0
    answer: Callable[["Unit", Arrival], tuple[int, bytes] | None] = lambda _, arrival: (arrival.port, arrival.data)
    arrivals: list[Arrival] = field(default_factory=list)
    sent: list[tuple[int, bytes]] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    coming: bytes = b""
    rx_ready: bool = False
    waiting: deque[tuple[int, Arrival]] = field(default_factory=deque)
    going: deque[Beat] = field(default_factory=deque)
    user: int = 0
    releases: deque[int] = field(default_factory=deque)
    offered: bool = False
    slot: int = 0
    begun: bool = False

    def init(self) -> None:
        """Name the slots."""
        self.held.clear()
        self.releases.append(1 << 8 | self.slots)

    def reset(self) -> None:
        """As reset does: nothing is left."""
        self.held.clear()
        self.waiting.clear()
        self.going.clear()
        self.releases.clear()
        self.coming, self.offered, self.begun = b"", False, False


class Card:
    """Runs everything around the fabric, one cycle after the other."""

    def __init__(self, dut: Any, slots: int = 8) -> None:
        self.dut = dut
        self.width = len(dut.s_axis_tdata) // 3
        self.step = self.width // 8
        self.count = int(dut.UNITS.value)
        self.settings = Settings()
        self.units = [Unit(number, slots) for number in range(self.count)]
        self.queues: list[deque[bytes]] = [deque() for _ in range(3)]
        self.beats: list[deque[Beat]] = [deque() for _ in range(3)]
        self.gaps: list[Stalls] = [never() for _ in range(3)]  # before packets
        self.cut: set[int] = set()  # ports whose packets are marked as bad
        self.function: Callable[[bytes], int] = lambda _: 0  # of the host's, the one that a packet comes from
        self.vf = 0
        self.stalls: list[Stalls] = [never() for _ in range(3)]
        self.out: list[list[bytes]] = [[] for _ in range(3)]
        self.out_cut: list[list[bytes]] = [[] for _ in range(3)]
        self.out_ports: list[int] = []  # of the host's packets, as units name them
        self.partial = [b""] * 3
        self.out_cycles: list[list[int]] = [[] for _ in range(3)]
        self.dropped, self.refused = Counter[int](), Counter[int]()
        self.events: dict[str, Counter[int]] = {
            name: Counter() for name in ("assigned", "slot_error", "discarded", "cut", "bad_port")
        }
        self.flush = 0
        self.flushed = 0
        self.cycle = 0
        self.writes: deque[tuple[int, int]] = deque()

    async def start(self, init: bool = True) -> None:
        """Reset, and units with slots."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for signal in (dut.s_axis_tvalid, dut.s_axis_cut, dut.tx_axis_tvalid, dut.release_valid, dut.flush):
            signal.value = 0
        for signal in (
            dut.rx_axis_tready,
            dut.m_axis_tready,
            dut.table_write,
            dut.dram_req_tready,
            dut.dram_rsp_tvalid,
        ):
            signal.value = 0
        dut.settings.value = self.settings.word()
        dut.rst.value = 1
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        if init:
            for unit in self.units:
                unit.init()
        await self.run(140)

    async def run(self, cycles: int) -> None:
        """Run for some cycles."""
        for _ in range(cycles):
            await self._cycle()

    async def until(self, condition: Callable[[], bool], limit: int = 20000) -> None:
        """Run until something is so."""
        for _ in range(limit):
            if condition():
                return
            await self._cycle()
        raise AssertionError(f"did not come about in {limit} cycles")

    async def empty(self, limit: int = 20000) -> None:
        """Run until all has gone everywhere."""
        await self.until(lambda: not any(self.queues) and not any(self.beats), limit)
        await self.run(30)
        await self.until(lambda: bool(self.dut.idle.value) and not any(map(_busy, self.units)), limit)
        await self.run(5)

    def status(self, unit: int) -> tuple[int, int]:
        """Slots that a unit has, and how many of them have a packet, as the fabric says."""
        word = int(self.dut.unit_status.value) >> 12 * unit
        return word >> 6 & 63, word & 63

    async def _cycle(self) -> None:
        dut = self.dut
        self._drive()
        await RisingEdge(dut.clk)
        self.cycle += 1
        self._sources()
        self._ports()
        self._to_units()
        self._from_units()
        self._events()

    # ---------------------------------------------------------------------------------------------- what goes in
    def _drive(self) -> None:
        dut, step = self.dut, self.step
        valid = cut = last = data = keep = 0
        for port in range(3):
            if not self.beats[port] and self.queues[port] and not next(self.gaps[port]):
                packet = self.queues[port].popleft()
                self.beats[port].extend(_beats(packet, step))
                if port == HOST:
                    self.vf = self.function(packet)
            if self.beats[port]:
                part, end = self.beats[port][0]
                valid |= 1 << port
                last |= end << port
                cut |= (end and port in self.cut) << port
                data |= int.from_bytes(part, "little") << port * self.width
                keep |= ((1 << len(part)) - 1) << port * step
        dut.s_axis_tvalid.value = valid
        if valid:
            dut.s_axis_tdata.value, dut.s_axis_tkeep.value = data, keep
            dut.s_axis_tlast.value, dut.s_axis_cut.value = last, cut
            dut.s_axis_vf.value = self.vf
        dut.m_axis_tready.value = sum((not next(stalls)) << port for port, stalls in enumerate(self.stalls))

        ready = valid = last = data = keep = user = freeing = releases = 0
        for unit in self.units:
            number = unit.number
            in_reset = self.flush >> number & 1
            unit.rx_ready = not in_reset and not next(unit.ready)
            ready |= unit.rx_ready << number
            if in_reset:
                continue
            if not unit.going and unit.waiting and unit.waiting[0][0] <= self.cycle:
                self._answer(unit, unit.waiting.popleft()[1])
            if unit.going and (unit.offered or not next(unit.valid)):
                unit.offered = True
                part, end = unit.going[0]
                valid |= 1 << number
                last |= end << number
                data |= int.from_bytes(part, "little") << number * self.width
                keep |= ((1 << len(part)) - 1) << number * step
                user |= unit.user << number * 9
            if unit.releases:
                freeing |= 1 << number
                releases |= unit.releases[0] << number * 9
        dut.rx_axis_tready.value = ready
        dut.tx_axis_tvalid.value = valid
        if valid:
            dut.tx_axis_tdata.value, dut.tx_axis_tkeep.value = data, keep
            dut.tx_axis_tlast.value, dut.tx_axis_tuser.value = last, user
        dut.release_valid.value = freeing
        if freeing:
            dut.release_s.value = releases
        dut.flush.value = self.flush
        dut.settings.value = self.settings.word()
        entry, unit_number = self.writes.popleft() if self.writes else (None, 0)
        dut.table_write.value = 0 if entry is None else 1 << 11 | entry << 4 | unit_number

    def _answer(self, unit: Unit, arrival: Arrival) -> None:
        answer = unit.answer(unit, arrival)
        unit.slot = arrival.slot
        if answer is None:
            self._release(unit)
            return
        unit.user, data = answer
        unit.sent.append(answer)
        unit.going.extend(_beats(data, self.step))

    @staticmethod
    def _release(unit: Unit) -> None:
        if unit.slot:
            unit.held.discard(unit.slot)
            unit.releases.append(unit.slot)
        unit.slot = 0

    # ---------------------------------------------------------------------------------------------- what happened
    def _sources(self) -> None:
        ready = int(self.dut.s_axis_tready.value)
        for port in range(3):
            if self.beats[port] and ready >> port & 1:
                self.beats[port].popleft()

    def _ports(self) -> None:
        dut = self.dut
        valid = int(dut.m_axis_tvalid.value) & int(dut.m_axis_tready.value)
        if not valid:
            return
        data, keep = int(dut.m_axis_tdata.value), int(dut.m_axis_tkeep.value)
        last, cut = int(dut.m_axis_tlast.value), int(dut.m_axis_cut.value)
        for port in range(3):
            if valid >> port & 1:
                self.partial[port] += _part(data, keep, port, self.step)
                if last >> port & 1:
                    (self.out_cut if cut >> port & 1 else self.out)[port].append(self.partial[port])
                    self.out_cycles[port].append(self.cycle)
                    if port == HOST:
                        self.out_ports.append(host_port(int(dut.m_axis_vf.value)))
                    self.partial[port] = b""

    def _to_units(self) -> None:
        dut = self.dut
        valid = int(dut.rx_axis_tvalid.value)
        if not valid:
            return
        assert not valid & self.flush, "a unit that is flushed is offered a packet"
        data, keep = int(dut.rx_axis_tdata.value), int(dut.rx_axis_tkeep.value)
        last, users = int(dut.rx_axis_tlast.value), int(dut.rx_axis_tuser.value)
        for unit in self.units:
            if not (valid >> unit.number & 1 and unit.rx_ready):
                continue
            port, slot = divmod(users >> 16 * unit.number & 0xFFFF, 256)
            if not unit.coming:
                assert 1 <= slot <= unit.slots and slot not in unit.held, f"slot {slot} is not free"
                unit.held.add(slot)
            unit.coming += _part(data, keep, unit.number, self.step)
            if last >> unit.number & 1:
                arrival = Arrival(unit.coming, port, slot, self.cycle)
                unit.arrivals.append(arrival)
                unit.waiting.append((self.cycle + unit.work(), arrival))
                unit.coming = b""

    def _from_units(self) -> None:
        ready = int(self.dut.tx_axis_tready.value)
        for unit in self.units:
            if self.flush >> unit.number & 1:
                continue
            if unit.releases:
                unit.releases.popleft()
            if unit.offered and ready >> unit.number & 1:
                unit.offered = False
                unit.begun = True
                if unit.going.popleft()[1]:
                    unit.begun = False
                    self._release(unit)

    def _events(self) -> None:
        dut = self.dut
        word = int(dut.source_event.value)
        for source in range(4):
            self.dropped[source] += word >> 2 * source & 1
            self.refused[source] += word >> 2 * source + 1 & 1
        word = int(dut.unit_event.value)
        if word:
            for unit in range(self.count):
                for bit, name in enumerate(self.events):
                    self.events[name][unit] += word >> 5 * unit + bit & 1


def host_port(function: int) -> int:
    """As units name it."""
    return HOST + 8 * function


def _busy(unit: Unit) -> bool:
    return bool(unit.waiting or unit.going or unit.releases)


def _beats(data: bytes, step: int) -> Iterator[Beat]:
    for at in range(0, len(data), step):
        yield data[at : at + step], at + step >= len(data)


def _part(data: int, keep: int, index: int, step: int) -> bytes:
    count = (keep >> index * step & (1 << step) - 1).bit_count()
    return (data >> 8 * index * step & (1 << 8 * count) - 1).to_bytes(count, "little")


_numbers = itertools.count()


def numbered(size: int) -> bytes:
    """A packet of random bytes that there is only once."""
    return next(_numbers).to_bytes(8, "big") + random.randbytes(size - 8)
