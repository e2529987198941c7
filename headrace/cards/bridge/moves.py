"""How a functional block moves between hardware and software while packets flow, none of which is lost or overtaken.

It is RCU: the new way is made ready and held, then the tables are changed, and the new way is let go once a grace
period has shown that nothing is on the old way any more. What holds is a queue in software, which takes anything, or
the store of a slot, which is small: on the way into hardware, what comes meanwhile must fit into it. So batches are
made small before, to make the time short; ``MoveReport`` tells what found no room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.cards.bridge.chain import Chain, ProtocolGraph, Side
from headrace.errors import HeadraceError

_HURRIED = 6  # batches each way


@dataclass(frozen=True)
class MoveReport:
    """A move that is done. ``held_ns``: for how long packets were held; ``dropped``: packets for which there was no
    room in the slot meanwhile."""

    block: str
    side: Side
    held_ns: int
    dropped: int = 0


def move(graph: ProtocolGraph, name: str, side: Side) -> MoveReport:
    """Moves a block while this function takes and sends packets. Raises HeadraceError when it can't be there."""
    mover = Move(graph, name, side)
    graph.driver.wait(mover.steps(), f"block {name} does not get to {side}", graph.poll)
    assert mover.report is not None
    return mover.report


class Move:
    """A move that goes on step by step, between which somebody else takes and sends packets."""

    def __init__(self, graph: ProtocolGraph, name: str, side: Side) -> None:
        """Raises HeadraceError when there is no such block, or it can't be on that side."""
        self._graph = graph
        self._driver = graph.driver
        self._chain, self._number = graph.find(name)
        self._block = self._chain.blocks[self._number]
        if side == "hw" and self._block.slot is None:
            raise HeadraceError(f"block {name} has no slot in hardware", 2)
        self.side: Side = side
        self.report: MoveReport | None = None

    @property
    def name(self) -> str:
        """The block's name."""
        return self._block.name

    def steps(self) -> Iterator[None]:
        """The steps; time must pass between them. ``report`` is there after the last one."""
        if self._block.side == self.side:
            self.report = MoveReport(self.name, self.side, 0)
        elif self.side == "sw":
            yield from self._to_software()
        else:
            yield from self._to_hardware()

    def _to_software(self) -> Iterator[None]:
        chain, block, driver = self._chain, self._block, self._driver
        assert block.slot is not None
        block.software.held = True
        begin = driver.clock()
        self._turn()
        if self._from_software(chain):
            yield from self._empty_sender()  # packets to the slot that software has sent before
        yield from driver.settling()
        while not driver.slot_idle(block.slot):
            yield
        yield from driver.settling()
        if chain.in_software(self._number + 1):
            yield from driver.draining()  # the slot's last packets come before those of the software block
        block.side = "sw"
        block.software.release(driver.clock())
        self.report = MoveReport(self.name, "sw", driver.clock() - begin)

    def _to_hardware(self) -> Iterator[None]:
        driver, block = self._driver, self._block
        assert block.slot is not None
        yield from self._hurry()
        dropped = driver.slot_overflow(block.slot)
        begin = driver.clock()
        self._graph.setup_slot(self._chain, self._number, hold=True)
        self._turn()
        yield from driver.settling()
        yield from driver.draining()
        while block.software.waiting:
            yield
        yield from self._empty_sender()
        yield from driver.settling()
        block.side = "hw"
        driver.hold_slot(block.slot, False)
        self.report = MoveReport(self.name, "hw", driver.clock() - begin, driver.slot_overflow(block.slot) - dropped)

    def _turn(self) -> None:
        """Packets for the block go to its other side from now on."""
        self._block.entry = self.side
        self._graph.point(self._chain, self._number)

    def _from_software(self, chain: Chain) -> bool:
        """Whether what comes before the block is in software."""
        return chain.ingress is None if self._number == 0 else chain.blocks[self._number - 1].side == "sw"

    def _hurry(self) -> Iterator[None]:
        """Makes what is on its way to software and back as little as it can be: as soon as one side has all batches,
        what has come meanwhile is the next one. So batches shrink to what comes in the time that one takes."""
        driver = self._driver
        to_software = to_hardware = 0
        while to_software < _HURRIED or to_hardware < _HURRIED:
            if driver.h2s.reached(driver.h2s.closed()):
                driver.h2s.flush()
                to_software += 1
            if driver.s2h.reached(driver.s2h.batches):
                driver.s2h.flush()
                to_hardware += 1
            yield

    def _empty_sender(self) -> Iterator[None]:
        """Until all packets that software has sent are on the network on chip."""
        mark = self._driver.s2h.flush()
        while not self._driver.s2h.reached(mark):
            yield
