"""Drivers that lie: rings of virtual functions with anything in them, beside functions whose drivers are honest.

Some functions of the card have rings that are made at random, mutated and changed while the card reads them. What they
send comes back to them. All memory has its function's mark in it, at the same addresses in each, so that a byte read
from another's memory, or written there, is found.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from dataclasses import dataclass

from headrace.card.functions import QueueFault, Side, Virtqueue
from headrace.errors import CardError, ModelError
from headrace.evaluate.loads.host_card import HostCard, running

HONEST = (0, 1)  # functions that send to each other
BASE, SIZE = 0x5000_0000, 1 << 16
MOST = 64  # descriptors of a ring

_RINGS, _TABLES, _EVENTS, _MARKED = 0, 0x4000, 0x6000, 0x8000  # offsets in a function's memory
_READ_ONLY = BASE + (1 << 20)  # a page that the card may not write
_PAGE = 4096
_DESCRIPTOR = struct.Struct("<QIHH")
_NEXT, _WRITE, _INDIRECT, _AVAILABLE, _USED = 1, 2, 4, 1 << 7, 1 << 15
_WRAP = 1 << 15
_MARK = 8
_FRAMES = 4  # a round, of each honest function
_PATIENCE = 60_000  # cycles for these
_STEP = 250


@dataclass(frozen=True)
class Mutated:
    """Rings with anything in them. ``failed``: queues, by fault in the order of ``QueueFault``; ``refused``: bursts
    that host memory answered with an error; ``leaked``: functions' memories in which another's mark was found, or whose
    bytes that the card may not write were other than before; ``full``: frames to honest functions that the card counts
    as dropped for want of room, which a queue has for 2 KB of its own; ``stuck``: rounds in which an honest function
    did not get the others, or a queue did not end; ``wrong``: those that were lost or changed."""

    rings: int
    failed: tuple[int, ...]
    refused: int
    leaked: int
    full: int
    stuck: int
    wrong: int
    cycles: int


def mutated(rings: int, seed: int) -> Mutated:
    """So many rings."""
    with running({0: 1, 1: 0}, latency_ns=100, out_of_order=seed + 1) as host:
        return _Liars(host, random.Random(seed)).run(rings)


@dataclass
class _Queue:
    """A queue of a liar."""

    side: Side
    function: int
    running: bool = False
    size: int = 0


class _Liars:
    """All functions of the card but the honest ones."""

    def __init__(self, host: HostCard, rng: random.Random) -> None:
        self.host, self.rng = host, rng
        self.functions = host.functions
        self.liars = range(len(HONEST), host.functions.count)
        self.numbers = {function: host.functions.number(function) for function in range(host.functions.count)}
        self.marks = {number: rng.randbytes(_MARK) for number in (0, *self.numbers.values())}
        for function in self.liars:
            host.forward(function, [function])
        host.forward(None, list(self.liars))
        memory = host.card.memory
        for number, mark in self.marks.items():
            memory.map(BASE, SIZE, function=number)
            memory.map(_READ_ONLY, _PAGE, read_only=True, function=number)
            memory.write(BASE, mark * (SIZE // _MARK), function=number)
            memory.write(_READ_ONLY, mark * (_PAGE // _MARK), function=number)
        self.queues = {(side, function): _Queue(side, function) for function in self.liars for side in Side}
        self.ports = [host.link(function, "memory") for function in HONEST]
        for port in self.ports:
            host.card.source(port, [])
        host.card.source(0, [])
        self.failed: Counter[QueueFault] = Counter()
        self.rings = self.full = self.stuck = self.wrong = self.leaked = 0
        self.dropped = [0 for _ in HONEST]  # for want of room, as the card counts

    def run(self, rings: int) -> Mutated:
        card = self.host.card
        before = card.stats()
        while self.rings < rings:
            for queue in self.queues.values():
                self._lay_out(queue)
            self._bells()
            card.send(0, [self._frame(self.rng.choice((60, 300, 1514))) for _ in range(3)])
            sent = [[self._frame(self.rng.choice((60, 61, 600))) for _ in range(_FRAMES)] for _ in HONEST]
            for port, frames in zip(self.ports, sent, strict=True):
                card.send(port, frames)
            for _ in range(3):
                card.run(until=None, cycles=self.rng.randint(40, 200))
                for queue in self.queues.values():
                    if self.rng.random() < 0.5:
                        self._change(queue)
                self._bells()
            self._await_honest(sent)
            self._note_failures()
            self._check_memory()
        after = card.stats()
        return Mutated(
            self.rings,
            tuple(self.failed[fault] for fault in QueueFault),
            after.memory.errors - before.memory.errors,
            self.leaked,
            self.full,
            self.stuck,
            self.wrong,
            after.cycles - before.cycles,
        )

    # ------------------------------------------------------------------------------------------------------- a round
    def _frame(self, size: int) -> bytes:
        return b"\x02" + self.rng.randbytes(size - 1)

    def _bells(self) -> None:
        card = self.host.card
        card.write_many([self.functions.bell(queue.side, queue.function) for queue in self.queues.values()])

    def _lay_out(self, queue: _Queue) -> None:
        """A new ring in a queue, which begins with it; one that still runs may keep its place."""
        rng = self.rng
        if queue.running and rng.random() < 0.3:
            self._fill(queue, rng.randrange(queue.size), rng.random() < 0.5)
            return
        self._stop(queue)
        queue.size = rng.choice((1, 2, 3, 8, 16, 33, MOST))
        first, wrap = rng.randrange(queue.size), rng.random() < 0.5
        self._fill(queue, first, wrap)
        events = BASE + _EVENTS + 64 * queue.side
        places = [BASE + self._ring(queue), events, events + 4]
        if rng.random() < 0.05:
            places[rng.randrange(3)] = self._address() & ~15
        names = ("mergeable", "indirect", "event_index", "checksum")
        ring, driver, device = places
        base = first | _WRAP * wrap
        features = {name: rng.random() < 0.5 for name in names}
        vector = int(queue.side == Side.TRANSMIT)
        what = Virtqueue(ring, driver, device, queue.size, vector, base, **features)
        self.functions.begin(queue.side, queue.function, what)
        queue.running = True

    def _stop(self, queue: _Queue) -> None:
        if not queue.running:
            return
        queue.running = False
        try:
            self.functions.stop(queue.side, queue.function)
        except ModelError:
            raise
        except CardError:
            self.stuck += 1

    def _ring(self, queue: _Queue) -> int:
        return _RINGS + 0x2000 * queue.side

    def _fill(self, queue: _Queue, first: int, wrap: bool) -> None:
        """A ring that a driver could have made who began at ``first``, and then some of it otherwise."""
        rng, number = self.rng, self.numbers[queue.function]
        memory = self.host.card.memory
        writes = _WRITE if queue.side == Side.RECEIVE else 0
        entries = []
        for index in range(queue.size):
            more = _NEXT if rng.random() < 0.3 and (index + 1) % queue.size != first else 0
            flags = _AVAILABLE if (index >= first) == wrap else _USED
            entries.append([self._place(), rng.choice((12, 60, 72, 1526, 2048)), index, flags | writes | more])
        table = [[self._place(), rng.choice((12, 60, 1526)), 0, writes] for _ in range(8)]
        if rng.random() < 0.3:
            index = rng.randrange(queue.size)
            flags = entries[index][3] & (_AVAILABLE | _USED) | _INDIRECT
            entries[index] = [BASE + _TABLES + 0x800 * queue.side, 16 * rng.randint(1, 8), index, flags]
        for chosen in (entries, table):
            for _ in range(rng.choice((0, 1, 1, 2, 5))):
                self._mutate(rng.choice(chosen))
        self.rings += 1
        memory.write(BASE + _TABLES + 0x800 * queue.side, _packed(table), function=number)
        memory.write(BASE + self._ring(queue), _packed(entries), function=number)
        events = bytes(4) if rng.random() < 0.7 else rng.randbytes(4)
        memory.write(BASE + _EVENTS + 64 * queue.side, events, function=number)

    def _change(self, queue: _Queue) -> None:
        """Something of a ring that the card may just be reading."""
        rng, number = self.rng, self.numbers[queue.function]
        memory = self.host.card.memory
        table = rng.random() < 0.2
        base = BASE + (_TABLES + 0x800 * queue.side if table else self._ring(queue))
        at = base + _DESCRIPTOR.size * rng.randrange(8 if table else queue.size)
        entry = list(_DESCRIPTOR.unpack(memory.read(at, _DESCRIPTOR.size, function=number)))
        self._mutate(entry)
        memory.write(at, _packed([entry]), function=number)

    def _mutate(self, entry: list[int]) -> None:
        """Of a descriptor one thing, or all."""
        rng = self.rng
        kind = rng.randrange(7)
        if kind == 0:
            entry[0] = self._address()
        elif kind == 1:
            entry[1] = rng.choice((0, 1, 11, 13, 65_600, 0xFFFF_FFFF, rng.getrandbits(32)))
        elif kind == 2:
            entry[2] = rng.getrandbits(16)
        elif kind == 3:
            entry[3] ^= rng.choice((_NEXT, _WRITE, _INDIRECT, _AVAILABLE, _USED, _AVAILABLE | _USED))
        elif kind == 4:
            entry[3] = rng.getrandbits(16)
        elif kind == 5:
            entry[0] = BASE + rng.choice((_RINGS, _TABLES)) + 16 * rng.randrange(64)  # descriptors as data
        else:
            entry[:] = _DESCRIPTOR.unpack(rng.randbytes(_DESCRIPTOR.size))

    def _place(self) -> int:
        return BASE + _MARKED + self.rng.randrange(SIZE - _MARKED - 2048)

    def _address(self) -> int:
        """Where nothing is, or too little, or what may not be written."""
        rng = self.rng
        return rng.choice(
            (
                rng.getrandbits(64),
                BASE + SIZE - rng.randint(1, 64),
                BASE - rng.randint(1, 64),
                _READ_ONLY + rng.randrange(_PAGE),
                (1 << 64) - rng.randint(1, 64),
                (1 << 46) + rng.randrange(1 << 24),  # where the honest functions' buffers are
            )
        )

    def _await_honest(self, sent: list[list[bytes]]) -> None:
        card = self.host.card
        got: list[list[bytes]] = [[] for _ in HONEST]
        for _ in range(_PATIENCE // _STEP):
            for port, frames in zip(self.ports, got, strict=True):
                frames += [frame.data for frame in card.received(port)]
            missing = [len(theirs) - len(mine) for mine, theirs in zip(got, reversed(sent), strict=True)]
            if not any(missing) or missing == self._full():
                break
            card.run(until=None, cycles=_STEP)
        else:
            self.stuck += 1
        full = self._full()
        self.full += sum(full)
        self.dropped = [before + now for before, now in zip(self.dropped, full, strict=True)]
        for mine, theirs, lost in zip(got, reversed(sent), full, strict=True):
            rest = iter(theirs)
            arrived = sum(frame in rest for frame in mine)  # in their order
            self.wrong += len(mine) - arrived + abs(len(theirs) - arrived - lost)

    def _full(self) -> list[int]:
        """Frames of this round to each honest function that the card says it had no room for."""
        counted = [self.functions.counters(Side.RECEIVE, function).dropped_full for function in HONEST]
        return [now - before for now, before in zip(counted, self.dropped, strict=True)]

    def _note_failures(self) -> None:
        for side, queue, fault in self.functions.failures():
            self.failed[fault] += 1
            self._stop(self.queues[side, queue])

    def _check_memory(self) -> None:
        """No mark anywhere but where it belongs; the honest functions' memory as it was."""
        memory = self.host.card.memory
        for number, mark in self.marks.items():
            found = memory.read(BASE, SIZE, function=number)
            kept = memory.read(_READ_ONLY, _PAGE, function=number) == mark * (_PAGE // _MARK)
            if number in (0, *(self.numbers[function] for function in HONEST)):
                kept &= found == mark * (SIZE // _MARK)
            others = any(other in found for owner, other in self.marks.items() if owner != number)
            self.leaked += others or not kept
            memory.write(BASE + _MARKED, mark * ((SIZE - _MARKED) // _MARK), function=number)


def _packed(entries: list[list[int]]) -> bytes:
    return b"".join(_DESCRIPTOR.pack(*entry) for entry in entries)
