"""A unit of the RPU card on its own: its firmware, the balancer's side (slots, packets, releases) and the host's."""

from __future__ import annotations

import os
import random
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, Stalls, cycles, never

STEP_NS = 4  # of time_ns each cycle
INPUTS = (
    "core_rst time_ns core_id s_axis_tvalid m_axis_tready release_ready broadcast_ready message_valid host_valid "
    "debug_valid reg_ready job_valid accel_tready accel_irq poke evict debug_in"
)


@dataclass(frozen=True)
class Sent:
    """A packet that the unit sent."""

    payload: bytes
    port: int
    to_unit: bool
    cycle: int  # of its last beat


@dataclass
class Unit:
    """Drives all ports but the accelerator's. ``give``: packets for the unit, each (payload, port); they go into free
    slots, in order. ``stalls`` of what the unit sends, and of its input."""

    dut: Any
    out_stalls: Stalls = field(default_factory=never)
    in_stalls: Stalls = field(default_factory=never)
    give: deque[tuple[bytes, int]] = field(default_factory=deque)
    sent: list[Sent] = field(default_factory=list)
    free: deque[int] = field(default_factory=deque)
    slots: int = 0
    cycle: int = 0
    given: int = 0
    too_long: int = 0
    reuse: bool = True  # a slot that was released is used again
    broadcasts: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = int(self.dut.DATA_W.value) // 8

    async def start(self, core_id: int = 0) -> None:
        """Resets the unit; its core stays in reset."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in INPUTS.split():
            getattr(dut, name).value = 0
        dut.core_id.value = core_id
        dut.broadcast_ready.value = dut.accel_there.value = 1
        dut.core_rst.value = dut.rst.value = 1
        await cycles(dut.clk, 4)
        dut.rst.value = 0
        cocotb.start_soon(self._run())

    async def write(self, address: int, data: bytes) -> None:
        """The host writes words."""
        dut = self.dut
        data += bytes(-len(data) % 4)
        for offset, (word,) in zip(range(0, len(data), 4), struct.iter_unpack("<I", data), strict=True):
            dut.host_valid.value, dut.host_write.value = 1, 1
            dut.host_addr.value, dut.host_wdata.value = address + offset, word
            await RisingEdge(dut.clk)
            while not dut.host_ready.value:
                await RisingEdge(dut.clk)
        dut.host_valid.value = 0

    async def read(self, address: int, size: int) -> bytes:
        """The host reads words."""
        dut, found = self.dut, b""
        for offset in range(0, size, 4):
            dut.host_valid.value, dut.host_write.value, dut.host_addr.value = 1, 0, address + offset
            await RisingEdge(dut.clk)
            while not dut.host_ready.value:
                await RisingEdge(dut.clk)
            dut.host_valid.value = 0
            await RisingEdge(dut.clk)
            while not dut.host_rvalid.value:
                await RisingEdge(dut.clk)
            found += struct.pack("<I", int(dut.host_rdata.value))
        return found[:size]

    async def boot(self, name: str) -> None:
        """Loads the program ``name`` and lets the core go."""
        for line in (Path(os.environ["RPU_PROGRAMS"]) / name).read_text().splitlines():
            address, data = line.split(" ")
            await self.write(int(address), bytes.fromhex(data))
        self.dut.core_rst.value = 0

    async def until(self, count: int, limit: int = 30_000) -> None:
        """Waits until the unit has sent so many packets."""
        for _ in range(limit):
            if len(self.sent) >= count:
                return
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"{len(self.sent)} of {count} packets in {limit} cycles")

    async def settle(self, count: int = 300, sleeps: bool = True) -> None:
        """Some cycles more, in which nothing must come; then every slot must be free again, and the core asleep."""
        sent = len(self.sent)
        await cycles(self.dut.clk, count)
        assert len(self.sent) == sent
        assert sorted(self.free) == list(range(1, self.slots + 1)), "slots are lost"
        assert self.dut.idle.value == sleeps

    async def _run(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        feed, packet = self._feed(), bytearray()
        where: tuple[int, int] | None = None
        while True:
            dut.time_ns.value = self.cycle * STEP_NS
            dut.m_axis_tready.value = ready = not next(self.out_stalls)
            dut.release_ready.value = take = random.random() < 0.8
            next(feed)
            await edge
            next(feed)
            self.cycle += 1
            if take and dut.release_valid.value:
                bits = int(dut.released.value)
                if bits >> 8:
                    self.slots = bits & 0xFF
                    self.free.extend(range(1, self.slots + 1))
                else:
                    assert bits not in self.free, "a slot is released twice"
                    if self.reuse:
                        self.free.append(bits)
            self.too_long += int(dut.too_long.value)
            if dut.broadcast_valid.value and dut.broadcast_ready.value:
                bits = int(dut.broadcast.value)
                self.broadcasts.append((bits >> 36, bits >> 4 & 0xFFFF_FFFF))
            if ready and dut.m_axis_tvalid.value:
                keep = int(dut.m_axis_tkeep.value)
                count = keep.bit_length()
                assert keep == (1 << count) - 1
                user = int(dut.m_axis_tuser.value)
                assert where is None or user == where
                packet += int(dut.m_axis_tdata.value).to_bytes(self.size, "little")[:count]
                if dut.m_axis_tlast.value:
                    self.sent.append(Sent(bytes(packet), user & 0xFF, bool(user >> 8), self.cycle))
                    packet, where = bytearray(), None
                else:
                    assert count == self.size
                    where = user

    def _feed(self) -> Iterator[None]:
        """The balancer: two steps a cycle, before and after the edge."""
        dut = self.dut
        while True:
            if not self.give or not self.free:
                dut.s_axis_tvalid.value = 0
                yield
                yield
                continue
            payload, port = self.give.popleft()
            self.given += 1
            slot = self.free.popleft()
            beats = [payload[i : i + self.size] for i in range(0, len(payload), self.size)]
            for number, beat in enumerate(beats):
                while next(self.in_stalls):
                    dut.s_axis_tvalid.value = 0
                    yield
                    yield
                dut.s_axis_tvalid.value = 1
                padded = beat + random.randbytes(self.size - len(beat))
                dut.s_axis_tdata.value = int.from_bytes(padded, "little")
                dut.s_axis_tkeep.value = (1 << len(beat)) - 1
                dut.s_axis_tlast.value = number == len(beats) - 1
                dut.s_axis_tuser.value = port << 8 | slot
                yield
                while not dut.s_axis_tready.value:
                    yield
                    yield
                yield
