"""An agent on a read host and a write host of Avalon, by the Avalon Interface Specifications.

It has what the model of cocotbext-avalon lacks: gaps between read data, responses, and an eye on the host's manners.
"""

import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import RisingEdge

from headrace.testing.streams import Stalls, never

OKAY, SLVERR, DECERR = 0, 2, 3


@dataclass
class Burst:
    """A burst as the agent saw it: address in bytes, beats, and the cycles of its first beat and of its last one."""

    address: int
    beats: int
    first: int
    last: int


@dataclass
class Agent:
    """Memory behind both hosts; fails when a host does what it may not.

    words       the memory: words by address
    read_stalls, write_stalls  when waitrequest is high
    gaps        when no read data come although some are due
    latency     cycles from a read to its first data, and from a burst's last beat to its response
    bad         which addresses are answered with SLVERR
    """

    dut: Any
    words: dict[int, int] = field(default_factory=dict)
    read_stalls: Stalls = field(default_factory=never)
    write_stalls: Stalls = field(default_factory=never)
    gaps: Stalls = field(default_factory=never)
    latency: int = 1
    bad: Callable[[int], bool] = lambda _: False
    reads: list[Burst] = field(default_factory=list)
    writes: list[Burst] = field(default_factory=list)
    most_under_way: int = 0
    responses: int = 0

    async def run(self) -> None:
        """Serve both hosts for ever."""
        dut = self.dut
        edge = RisingEdge(dut.clk)
        size = len(dut.avm_read_byteenable)
        read_wait = write_wait = 1
        read_before = write_before = None
        due: deque[tuple[int, int, int]] = deque()  # cycle, address, last of its burst
        answers: deque[tuple[int, int]] = deque()  # cycle, response
        burst: Burst | None = None
        failed = False
        under_way = 0
        for cycle in itertools.count():
            dut.avm_read_waitrequest.value = read_wait
            dut.avm_write_waitrequest.value = write_wait
            await edge
            if dut.avm_read_read.value:
                offered = (int(dut.avm_read_address.value), int(dut.avm_read_burstcount.value))
                assert read_before in (None, offered), "a read changed before it was taken"
                assert int(dut.avm_read_byteenable.value) == (1 << size) - 1
                read_before = offered if read_wait else None
                if not read_wait:
                    address, beats = offered
                    assert address % size == 0 and beats >= 1
                    self.reads.append(Burst(address, beats, cycle, cycle))
                    under_way += 1
                    self.most_under_way = max(self.most_under_way, under_way)
                    for beat in range(beats):
                        due.append((cycle + self.latency, address + beat * size, beat == beats - 1))
            else:
                assert read_before is None, "a read was withdrawn"
            if dut.avm_write_write.value:
                names = ("address", "burstcount", "writedata", "byteenable")
                word = tuple(int(getattr(dut, f"avm_write_{name}").value) for name in names)
                assert write_before in (None, word), "a write changed before it was taken"
                write_before = word if write_wait else None
                if not write_wait:
                    address, beats, data, lanes = word
                    if burst is None:
                        assert address % size == 0 and beats >= 1
                        burst, index, failed = Burst(address, beats, cycle, cycle), 0, False
                    assert (address, beats) == (burst.address, burst.beats), "changed within a burst"
                    place = address + index * size
                    failed |= self.bad(place)
                    mask = sum(0xFF << 8 * lane for lane in range(size) if lanes >> lane & 1)
                    if not self.bad(place):
                        self.words[place] = self.words.get(place, 0) & ~mask | data & mask
                    index += 1
                    if index == beats:
                        burst.last = cycle
                        self.writes.append(burst)
                        answers.append((cycle + self.latency, SLVERR if failed else OKAY))
                        burst = None
            else:
                assert write_before is None, "a write was withdrawn"
            gives = bool(due) and due[0][0] <= cycle + 1 and not next(self.gaps)
            dut.avm_read_readdatavalid.value = gives
            dut.avm_read_readdata.value = random.getrandbits(8 * size)
            if gives:
                _, address, last = due.popleft()
                under_way -= last
                dut.avm_read_readdata.value = self.words.get(address, 0)
                dut.avm_read_response.value = SLVERR if self.bad(address) else OKAY
            answered = bool(answers) and answers[0][0] <= cycle
            dut.avm_write_writeresponsevalid.value = answered
            dut.avm_write_response.value = random.getrandbits(2)
            if answered:
                dut.avm_write_response.value = answers.popleft()[1]
                self.responses += 1
            read_wait, write_wait = int(next(self.read_stalls)), int(next(self.write_stalls))
