"""The function engine of an open card (``regs/host.rdl``): virtqueues that begin and stop, what functions may do, what
was counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

from headrace.card import Card
from headrace.card.functions.policy import Policy, PolicyDrops
from headrace.errors import CardError, HeadraceError

_MAGIC = 0x5646
_WRAP = 1 << 15
_MOST_LOOKS, _PATIENT_LOOKS = 100_000, 10_000  # at whether a queue is quiet, some cycles each


class Side(IntEnum):
    """Of the card: queues that drivers send by, and those that they receive by."""

    TRANSMIT = 0
    RECEIVE = 1


class QueueFault(IntEnum):
    """Why a queue failed."""

    MEMORY = 1
    CHAIN = 2
    FLAGS = 3
    DIRECTION = 4
    LENGTH = 5

    @property
    def text(self) -> str:
        """In words."""
        return _FAULTS[self]


_FAULTS = {
    QueueFault.MEMORY: "host memory answered with an error",
    QueueFault.CHAIN: "a chain of descriptors is longer than its ring or table",
    QueueFault.FLAGS: "a descriptor has flags that can't be",
    QueueFault.DIRECTION: "a buffer is of the wrong direction",
    QueueFault.LENGTH: "an indirect table has a length that can't be",
}


@dataclass(frozen=True)
class Virtqueue:
    """A packed virtqueue. ``ring``, ``driver``, ``device``: addresses in the function's space of the descriptors and of
    the event suppression structures. ``size`` in descriptors. ``base``: index of the next descriptor, and the wrap
    counter in bit 15. ``vector`` of its interrupts. ``checksum``: VIRTIO_NET_F_CSUM or, received, _GUEST_CSUM.
    ``segment``: VIRTIO_NET_F_HOST_TSO4 or _TSO6."""

    ring: int
    driver: int
    device: int
    size: int
    vector: int
    base: int = _WRAP
    mergeable: bool = False
    indirect: bool = False
    event_index: bool = False
    checksum: bool = False
    segment: bool = False


class QueueCounters(NamedTuple):
    """Packets that went through a queue and their bytes; dropped because they or their chain can't be, for want of room
    in the card, and because the queue is off."""

    packets: int
    bytes: int
    dropped: int
    dropped_full: int
    dropped_off: int


class Failure(NamedTuple):
    """A queue that has failed, and takes no part until it begins again."""

    side: Side
    queue: int
    fault: QueueFault


class Functions:
    """The function engine of a card: ``registers`` is its part of ``card.regs``."""

    def __init__(self, card: Card, registers: Any) -> None:
        """Raises HeadraceError when the card has none."""
        self.card, self._regs = card, registers
        if registers.engine.magic != _MAGIC:
            raise HeadraceError("this card has no virtual functions")
        self.count: int = registers.sizes.functions
        self.pairs: int = registers.sizes.pairs
        self._first: int = registers.sizes.first
        self.max_frame: int = registers.max_frame.bytes
        self.longest_cut: int = registers.longest_cut.bytes
        """Bytes of the longest frame that is cut into TCP segments where its driver asks for it; 0: none is."""
        self._policies: dict[int, Policy] = {}
        self._queues: dict[tuple[Side, int], Virtqueue] = {}  # that run, or would if their function's link were up
        self._bells = {Side.TRANSMIT: registers.bell.transmit.address, Side.RECEIVE: registers.bell.receive.address}

    def check(self, function: int) -> None:
        """Raises HeadraceError for a function that isn't there."""
        if not 0 <= function < self.count:
            raise HeadraceError(f"function {function}: the card has functions 0 to {self.count - 1}", 2)

    def number(self, function: int) -> int:
        """What stands for a function beside accesses of host memory and interrupts."""
        return self._first + function

    def bell(self, side: Side, queue: int) -> tuple[int, int]:
        """The register that is a side's doorbell, and what is written to it for a queue."""
        return self._bells[side], queue

    def begin(self, side: Side, queue: int, what: Virtqueue) -> None:
        """Begins a queue, which has been stopped or was never begun. Those of a function whose link is disabled wait
        until it is not."""
        self._queues[side, queue] = what
        if self._may_run(queue):
            self._begin(side, queue, what)

    def _begin(self, side: Side, queue: int, what: Virtqueue) -> None:
        regs = self._regs.queue
        self._select(side, queue)
        flags = (what.mergeable, what.indirect, what.event_index, what.checksum, what.segment)
        regs.kind.write(what.size | sum(flag << 16 + bit for bit, flag in enumerate(flags)))
        regs.at.write(what.base | what.vector << 16)
        for words, address in ((regs.ring, what.ring), (regs.driver, what.driver), (regs.device, what.device)):
            for half, word in enumerate(words):
                word.write(address >> 32 * half & 0xFFFF_FFFF)
        regs.start.begin_queue = 1

    def stop(self, side: Side, queue: int) -> int:
        """Ends a queue; what it has begun comes to its end. Gives the place of the next descriptor, as ``base``. Raises
        CardError when the function's memory doesn't answer."""
        what = self._queues.pop((side, queue), None)
        return what.base if what is not None and not self._may_run(queue) else self._stop(side, queue)

    def _stop(self, side: Side, queue: int) -> int:
        self._select(side, queue)
        self._regs.queue.start.stop = 1
        try:
            for look in range(_MOST_LOOKS):
                state = self._regs.queue.state.read()
                if state & 1:
                    return int(state >> 16)
                if look == _PATIENT_LOOKS:
                    self.give_way(True)
            raise CardError(f"function {queue // self.pairs}: a queue does not come to its end")
        finally:
            self.give_way(False)

    def give_way(self, on: bool) -> None:
        """Lets packets of functions be dropped that would wait in the card for somebody to take them. There are none in
        cards that always take them."""

    def moderate(self, side: Side, queue: int, packets: int, time_ns: int) -> None:
        """Lets interrupts wait for so many used descriptors, but no longer than so long after the first."""
        self._select(side, queue)
        self._regs.queue.moderate_packets.write(packets)
        self._regs.queue.moderate_ns.write(time_ns)
        self._regs.queue.start.moderate = 1

    def counters(self, side: Side, queue: int) -> QueueCounters:
        """Since the card's reset."""
        self._select(side, queue)
        self._regs.queue.start.count = 1
        return QueueCounters(*_counters(self._regs.queue.counted))

    def traffic(self, side: Side, function: int) -> QueueCounters:
        """Of all queues of a function, since the card's reset."""
        queues = range(function * self.pairs, (function + 1) * self.pairs)
        return QueueCounters(*map(sum, zip(*(self.counters(side, queue) for queue in queues), strict=True)))

    def policy(self, function: int) -> Policy:
        """What a function may send and is to receive; at first, everything."""
        self.check(function)
        return self._policies.get(function, Policy())

    def set_policy(self, function: int, policy: Policy) -> None:
        """Sets that, at once for all of it. Raises HeadraceError for what can't be, and CardError when queues are to
        stand still and the function's memory doesn't answer."""
        before = self.policy(function)
        policy.check()
        if policy.down and not before.down:
            self._halt(function)
        regs = self._regs.policy
        regs.select.write(function)
        low, high, rules = policy.words
        regs.mac[0].write(low)
        regs.mac[1].write(high)
        regs.rules.write(rules)
        regs.start.apply = 1
        if policy.rate != before.rate:
            regs.byte_time.write(policy.byte_time)
            regs.start.pace = 1
        self._policies[function] = policy
        if before.down and not policy.down:
            self._go_on(function)

    def _may_run(self, queue: int) -> bool:
        return not self.policy(queue // self.pairs).down

    def _halt(self, function: int) -> None:
        """Stops a function's queues where they are."""
        for side, queue in self._of(function):
            what = self._queues.pop((side, queue))  # one that comes to no end doesn't go on either
            self._queues[side, queue] = replace(what, base=self._stop(side, queue))

    def _go_on(self, function: int) -> None:
        for side, queue in self._of(function):
            self._begin(side, queue, self._queues[side, queue])
            self.card.write(*self.bell(side, queue))  # descriptors may be there already

    def _of(self, function: int) -> list[tuple[Side, int]]:
        return [key for key in self._queues if key[1] // self.pairs == function]

    def policy_drops(self, function: int) -> PolicyDrops:
        """What its policies have dropped since the card's reset."""
        self.check(function)
        regs = self._regs.policy
        regs.select.write(function)
        regs.start.count = 1
        return PolicyDrops(*_counters(regs.dropped))

    def failures(self) -> Iterator[Failure]:
        """Queues that have failed since the last call."""
        while (first := self._regs.failed.first).valid:
            yield Failure(Side(first.side), first.queue, QueueFault(first.fault))
            self._regs.failed.advance.start = 1

    def _select(self, side: Side, queue: int) -> None:
        self._regs.queue.select.write(queue | side << 16)


def _counters(registers: Any) -> Iterator[int]:
    words = [word.read() for word in registers]
    return (low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True))
