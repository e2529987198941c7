"""Loads for the capture card, and what becomes of them: single packets, streams out of host memory, frames of the wire.

Everything counts cycles of the RTL, the same on every machine, and checks what lies in the ring byte for byte.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.card import Card
from headrace.card.packet_memory import Packets
from headrace.cards.capture.driver import RECORD_HEADER, CaptureCounters, CaptureDriver, CaptureSettings
from headrace.cards.capture.run import driver_of

WIRE_RATE = 100e9  # bit/s
MOST_LAG = 1_000  # cycles after the last byte; a stream that the card could not keep up with would end later
WIRE_OVERHEAD = 24  # bytes of preamble, FCS and gap
CLOCKS = {32: 100_000_000, 64: 150_000_000, 128: 200_000_000, 256: 250_000_000, 512: 322_265_625}
"""Nominal clock (Hz) of a bus width: what the parts that have such buses reach."""

_PACKETS = 0x1_0000_0000  # where packets lie in host memory
_LOT = 1 << 24  # bytes there
_PAGE = 4096
_STAMP = 8  # bytes of a record's time, which isn't compared


@dataclass(frozen=True)
class Memory:
    """How host memory answers.

    ``read_ns``: from a burst's address to its first data. ``write_ns``: from a burst's last data to its response.
    ``write_waits``: cycles for which the first data of each write burst wait. ``phase_seed``: unless 0, each burst's
    latency is at random between once that long and twice that long plus 15 cycles.
    """

    read_ns: int = 0
    write_ns: int = 0
    write_waits: int = 0
    phase_seed: int = 0

    def apply(self, card: Card) -> None:
        """Makes the card's host memory answer so."""
        card.memory.configure(
            read_latency_ns=self.read_ns,
            write_latency_ns=self.write_ns,
            write_waits=self.write_waits,
            out_of_order=self.phase_seed,
        )


IDEAL = Memory()


@dataclass(frozen=True)
class Single:
    """Packets of one size: cycles until the response to the last write of each.

    ``packet_cycles`` count from the packet's descriptor on, as the card's register of that name does;
    ``doorbell_cycles`` from the doorbell, the fetch of the descriptor included (`last_cycles`). ``faults``: bytes of
    the ring that are wrong.
    """

    size: int
    packet_cycles: tuple[int, ...]
    doorbell_cycles: tuple[int, ...]
    faults: int


@dataclass(frozen=True)
class Flow:
    """Packets of one size, one after the other.

    ``share``: of the bus's bandwidth, what records take while the engine is busy; ``payload_share``: the same without
    their headers. ``dropped``: by the card and by the MACs. ``lag_cycles``: from the end of the last frame on the wire
    to the end of all work. ``faults``: bytes of the ring that are wrong, packets that the counters can't account for.
    """

    size: int
    packets: int
    cycles: int
    record_bytes: int
    share: float
    payload_share: float
    dropped: int = 0
    lag_cycles: int = 0
    faults: int = 0


READ_BUFFER = 128  # words that are read ahead, unless bursts are longer


def parameters(mem_w: int, burst: int = 16, read_buffer: int = READ_BUFFER) -> dict[str, int]:
    """Of a capture card whose memory bus has ``mem_w`` bits, and ports as wide."""
    page = _PAGE * 8 // mem_w
    return {"DATA_W": mem_w, "MEM_W": mem_w, "BURST": burst, "READ_BUFFER": max(read_buffer, min(burst, page))}


def run(kind: str, **arguments: Any) -> Any:
    """One of this module's loads by its name, for a list of points that has several kinds."""
    loads: dict[str, Callable[..., Any]] = {"build": build, "single": single, "together": together, "stream": stream}
    return (loads | {"wire": wire})[kind](**arguments)


def build(mem_w: int, burst: int = 16, read_buffer: int = READ_BUFFER) -> None:
    """Builds the card, if need be."""
    _open(mem_w, burst, None, read_buffer).close()


def single(
    mem_w: int,
    burst: int,
    clock_hz: int,
    sizes: Sequence[int],
    count: int = 1,
    memory: Memory = IDEAL,
    aligned: bool = False,
    seed: int = 1,
) -> list[Single]:
    """``count`` packets of each size, one at a time.

    ``aligned``: packets and records begin at multiples of 64 bytes. Otherwise packets begin anywhere in a page of 4 KB,
    and records where the packets before have ended, one of random length before each that counts.
    """
    place = random.Random(seed)
    results = []
    with _open(mem_w, burst, clock_hz) as card:
        memory.apply(card)
        bench = _Bench(card, seed)
        for size in sizes:
            cycles: list[tuple[int, int]] = []
            for _ in range(count):
                if aligned:
                    bench.start()
                else:
                    bench.post(_PACKETS, place.randrange(1, 68))
                bench.post(_PACKETS + (0 if aligned else place.randrange(_PAGE)), size)
                cycles.append(bench.cycles())
            results.append(_single(size, cycles, bench))
    return results


def together(
    mem_w: int, burst: int, clock_hz: int, sizes: Sequence[int], counts: Sequence[int], memory: Memory = IDEAL
) -> list[Single]:
    """So many packets of each size with one doorbell: a run for each of ``counts``, cycles in the same order.

    Packets and the first record begin at multiples of 64 bytes.
    """
    results = []
    with _open(mem_w, burst, clock_hz) as card:
        memory.apply(card)
        bench = _Bench(card, 1)
        for size in sizes:
            cycles: list[tuple[int, int]] = []
            for count in counts:
                bench.start()
                bench.post(_PACKETS, size, count)
                cycles.append(bench.cycles())
            results.append(_single(size, cycles, bench))
    return results


def _single(size: int, cycles: Sequence[tuple[int, int]], bench: _Bench) -> Single:
    packet, doorbell = zip(*cycles, strict=True)
    return Single(size, packet, doorbell, bench.take_faults())


def stream(
    mem_w: int,
    burst: int,
    clock_hz: int,
    sizes: Sequence[int],
    memory: Memory = IDEAL,
    total: int = 1 << 18,
    offset: int = 0,
    read_buffer: int = READ_BUFFER,
) -> list[Flow]:
    """Packets of each size, ``total`` bytes of them, with one doorbell.

    They lie at multiples of 64 bytes, plus ``offset``.
    """
    results = []
    with _open(mem_w, burst, clock_hz, read_buffer) as card:
        memory.apply(card)
        bench = _Bench(card, 1)
        for size in sizes:
            count = min(total // size, _LOT // (size + 128), 1 << 14)
            bench.start()
            before, cycles = bench.driver.counters(), card.regs.capture.busy_cycles.read()
            bench.post(_PACKETS + offset, size, count)
            results.append(bench.flow(size, before, card.regs.capture.busy_cycles.read() - cycles))
    return results


def wire(
    sizes: Sequence[int | str],
    count: int,
    mem_w: int = 512,
    clock_hz: int | None = None,
    ports: int = 1,
    memory: Memory = IDEAL,
    known: bool = True,
) -> list[Flow]:
    """``count`` frames of each size (without FCS) at 100 Gb/s, one right after the other, at one or both ports.

    ``known``: random bytes, which are compared if none is dropped, as many frames as go into the ring at most, at one
    port only. Otherwise
    the generator makes the frames (a size may then be such as "imix"), and only their number is checked.
    """
    results = []
    with _open(mem_w, 16, clock_hz) as card:
        memory.apply(card)
        bench = _Bench(card, 1)
        for size in sizes:
            fitting = bench.RING // (int(size) + 16) if known else count
            results.append(_wire(card, bench, size, min(count, fitting), ports, known))
    return results


def _wire(card: Card, bench: _Bench, size: int | str, count: int, ports: int, known: bool) -> Flow:
    bench.start()
    before, start = bench.driver.counters(), card.stats()
    cycles = card.regs.capture.busy_cycles.read()
    for port in range(ports):
        card.set_rate(port, WIRE_RATE)
        if known:
            card.source(port, bench.random_frames(int(size), count))
        else:
            card.source(port, f"gen:size={size},count={count},seed={port + 1}")
    begin = card.stats().cycles
    while not card.run(cycles=100_000).idle:
        if not known:  # otherwise all records stay for the check
            bench.driver.release(bench.driver.available()[1])
    end = card.stats()
    frames = [new.rx_frames - old.rx_frames for new, old in zip(end.ports, start.ports, strict=True)]
    data = [new.rx_bytes - old.rx_bytes for new, old in zip(end.ports, start.ports, strict=True)]
    wire_s = max(bytes_ + WIRE_OVERHEAD * frames_ for bytes_, frames_ in zip(data, frames, strict=True)) * 8 / WIRE_RATE
    lag = end.cycles - begin - round(wire_s * card.clock_hz)
    overruns = sum(new.rx_overruns - old.rx_overruns for new, old in zip(end.ports, start.ports, strict=True))
    mean = sum(data) // max(1, sum(frames))
    return bench.flow(mean, before, card.regs.capture.busy_cycles.read() - cycles, overruns, lag, known)


class _Bench:
    """A card with packets in host memory, its driver, and a check of what comes into the ring."""

    RING = 1 << 25

    def __init__(self, card: Card, seed: int) -> None:
        self._card = card
        self._random = np.random.default_rng(seed)
        self._lot = self._random.integers(0, 256, _LOT, np.uint8)
        card.memory.map(_PACKETS, _LOT)
        card.memory.write(_PACKETS, self._lot.tobytes())
        self._frames: npt.NDArray[np.uint8] = np.empty((0, 0), np.uint8)
        self._faults = 0
        self.driver: CaptureDriver = driver_of(card)
        self.start()

    def start(self) -> None:
        """Starts the engine anew, at the ring's beginning."""
        self.driver.setup(CaptureSettings(ring_bytes=self.RING, descriptor_slots=1 << 15))
        self._frames = np.empty((0, 0), np.uint8)

    def cycles(self) -> tuple[int, int]:
        """Of the last packet: from its descriptor on, and from the doorbell on."""
        regs = self._card.regs.capture
        return int(regs.packet_cycles.read()), int(regs.last_cycles.read())

    def random_frames(self, size: int, count: int) -> list[bytes]:
        """Frames whose bytes the check knows."""
        self._frames = self._random.integers(0, 256, (count, size), np.uint8)
        return [row.tobytes() for row in self._frames]

    def post(self, address: int, size: int, count: int = 1) -> None:
        """Lets the engine capture packets that begin at ``address`` and then at multiples of 64 from there."""
        step = -(-size // 64) * 64
        packets = Packets(count)
        for number in range(count):
            packets.address[number] = address + step * number
            packets.length[number] = packets.wire_length[number] = size
        start = self.driver.available()[0]
        if self.driver.post(packets, times=False) < count:
            raise ValueError(f"{count:,} packets at once: more than there are descriptors")
        self.driver.doorbell()
        self._card.run()
        places = address - _PACKETS + step * np.arange(count)
        expected = np.lib.stride_tricks.sliding_window_view(self._lot, size)[places]
        self._check(expected, start, self.driver.available()[1])

    def _check(self, expected: npt.NDArray[np.uint8], start: int, end: int) -> None:
        """Compares the records between two byte counts of the ring with packets of one size, a row each."""
        count, size = expected.shape
        record = RECORD_HEADER + size
        if end - start != count * record:
            self._faults += abs(end - start - count * record)
            return
        ring = self.driver.ring
        found = np.frombuffer(self._card.memory.view(ring.address + start % ring.size, end - start), np.uint8)
        records = found.reshape(count, record)
        lengths = np.frombuffer(np.array([size, size], "<u4").tobytes(), np.uint8)
        self._faults += int((records[:, _STAMP:RECORD_HEADER] != lengths).sum())
        self._faults += int((records[:, RECORD_HEADER:] != expected).sum())
        self.driver.release(end)

    def flow(
        self,
        size: int,
        before: CaptureCounters,
        cycles: int,
        overruns: int = 0,
        lag: int = 0,
        compare: bool = False,
    ) -> Flow:
        """What became of the packets since the counters were ``before``."""
        after = self.driver.counters()
        records, record_bytes = after.records - before.records, after.record_bytes - before.record_bytes
        dropped = sum(after.dropped.values()) - sum(before.dropped.values()) + overruns
        if compare and not dropped:
            self._check(self._frames, *self.driver.available())
        room = cycles * self.driver.memory_bits / 8
        return Flow(
            size=size,
            packets=after.received - before.received + overruns,
            cycles=cycles,
            record_bytes=record_bytes,
            share=record_bytes / room,
            payload_share=(record_bytes - RECORD_HEADER * records) / room,
            dropped=dropped,
            lag_cycles=lag,
            faults=self.take_faults() + abs(after.missing() - before.missing()),
        )

    def take_faults(self) -> int:
        """Faults found since the last call."""
        faults, self._faults = self._faults, 0
        return faults


def _open(mem_w: int, burst: int, clock_hz: int | None, read_buffer: int = READ_BUFFER) -> Card:
    chosen = parameters(mem_w, burst, read_buffer)
    return Card.open("capture", chosen, clock_hz=clock_hz or CLOCKS[mem_w], progress=False)
