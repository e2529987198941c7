"""What builder and packer promise: the records' bytes without a gap, whatever their lengths, cuts, drops and stalls."""

import random
import struct
from dataclasses import dataclass
from typing import Any

import cocotb
from capture.host import start
from capture.packets import HEADER_BYTES, MAX_CAPTURED
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    Stalls,
    Word,
    behaviour,
    cycles,
    gaps,
    never,
    seldom,
    until,
)

INPUTS = ("record_valid", "data_valid", "word_ready", "rewind")


@dataclass(frozen=True)
class Record:
    """A record to be built, and the data that come for it; it captures `length` of them."""

    length: int
    data: bytes
    drop: bool = False
    empty: bool = False  # no data come
    memory: bool = False
    error: bool = False
    sec: int = 0
    nsec: int = 0
    wire_len: int = 0

    def pack(self) -> int:
        """The bits of record_t."""
        value = 0
        fields = ((self.drop, 1), (self.memory, 1), (self.empty, 1), (self.length, 17))
        for part, width in (*fields, (self.wire_len, 32), (self.nsec, 32), (self.sec, 32)):
            value = value << width | int(part)
        return value

    def bytes(self) -> bytes:
        """What goes into the ring."""
        header = struct.pack("<IIII", self.sec, self.nsec, self.length, self.wire_len)
        return b"" if self.drop else header + self.data[: self.length]

    def words(self, size: int) -> list[Word]:
        """The beats of its data."""
        if self.empty:
            return []
        words: list[Word] = []
        for offset in range(0, max(len(self.data), 1), size):
            part = self.data[offset : offset + size]
            part += random.randbytes(size - len(part))
            last = offset + size >= len(self.data)
            words.append((int.from_bytes(part, "little"), int(last), int(last and self.error)))
        return words


def records(count: int, longest: int, drops: float = 0.2) -> list[Record]:
    """Random records, some dropped, empty, cut, or with data that could not be read."""
    made = []
    for _ in range(count):
        length = random.choice((0, 1, random.randint(0, 70), random.randint(0, longest)))
        empty = length == 0 and random.random() < 0.5
        beyond = 0 if empty else random.choice((0, 0, 1, random.randint(0, 200)))
        numbers = {name: random.getrandbits(32) for name in ("sec", "nsec", "wire_len")}
        made.append(
            Record(
                length,
                random.randbytes(length + beyond),
                random.random() < drops,
                empty,
                random.random() < 0.5,
                length > 0 and random.random() < 0.1,  # of none captured, no data are looked at
                **numbers,
            )
        )
    return made


class Bench:
    """The two parts between a planner, data and the ring's writer."""

    def __init__(self, dut: Any, sink_stalls: Stalls) -> None:
        self.dut = dut
        self.size = len(dut.word) // 8
        self.sink = Sink(Channel(dut.clk, dut.word_valid, dut.word_ready, (dut.word,)), sink_stalls)
        self.ends: list[tuple[int, int]] = []  # bytes of the record, good
        self.done = 0

    async def start(self) -> "Bench":
        await start(self.dut, *INPUTS)
        return self.attend()

    def attend(self) -> "Bench":
        """Take words and note what is said."""
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())
        return self

    async def watch(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            if dut.end_valid.value:
                self.ends.append((int(dut.end_total.value), int(dut.end_good.value)))
            self.done += int(dut.done.value)

    def sources(self, made: list[Record], record_stalls: Stalls, data_stalls: Stalls) -> tuple[Source, Source]:
        """Of records, and of their data."""
        dut = self.dut
        order = Source(
            Channel(dut.clk, dut.record_valid, dut.record_ready, (dut.record,)),
            [(record.pack(),) for record in made],
            record_stalls,
        )
        words = [word for record in made for word in record.words(self.size)]
        payload = (dut.data, dut.data_last, dut.data_error)
        return order, Source(Channel(dut.clk, dut.data_valid, dut.data_ready, payload), words, data_stalls)

    async def run(self, made: list[Record], record_stalls: Stalls, data_stalls: Stalls) -> Source:
        """Build all; the source of the data."""
        dut, before = self.dut, self.done
        order, data = self.sources(made, record_stalls, data_stalls)
        cocotb.start_soon(order.run())
        cocotb.start_soon(data.run())
        await until(dut.clk, lambda: self.done == before + len(made) and bool(dut.idle.value), 100_000)
        await cycles(dut.clk, 5)
        return data

    def bytes(self) -> bytes:
        """All that came, the word that is being filled too."""
        whole = b"".join(word.to_bytes(self.size, "little") for (word,) in self.sink.taken)
        part = int(self.dut.word.value).to_bytes(self.size, "little")[: int(self.dut.word_count.value)]
        return whole + part

    def check(self, made: list[Record]) -> None:
        """The bytes of all records, and their ends."""
        assert self.bytes() == b"".join(record.bytes() for record in made)
        assert self.ends == [
            (HEADER_BYTES + r.length, int(not (r.error and len(r.data) <= self.reach(r)))) for r in made if not r.drop
        ]

    def reach(self, record: Record) -> int:
        """How far into its data a record's beats reach: an error that is told beyond comes too late for it."""
        wide = self.size > HEADER_BYTES
        return max(-(-record.length // self.size), int(wide)) * self.size


@behaviour()
@cocotb.parametrize((("data_stalls", "sink_stalls"), PAIRS))
async def records_follow_each_other_without_a_gap(dut: Any, data_stalls: Any, sink_stalls: Any) -> None:
    bench = await Bench(dut, sink_stalls()).start()
    made = records(40, 300)
    await bench.run(made, seldom(), data_stalls())
    bench.check(made)


@behaviour()
async def every_length_and_every_place_in_a_word(dut: Any) -> None:
    bench = await Bench(dut, never()).start()
    made = [
        Record(n, random.randbytes(n), empty=n == 0, wire_len=n)
        for n in [*range(0, 2 * bench.size + 2), *random.choices(range(4 * bench.size), k=100)]
    ]
    await bench.run(made, never(), never())
    bench.check(made)


@behaviour()
async def a_long_record_takes_a_cycle_a_word(dut: Any) -> None:
    bench = await Bench(dut, never()).start()
    made = [Record(3, bytes(3)), Record(100 * bench.size, random.randbytes(100 * bench.size))]
    data = await bench.run(made, never(), never())
    bench.check(made)
    assert gaps(data.times_ps[-98:]) == 0  # the first beat may fill two words
    assert gaps(bench.sink.times_ps[-98:]) == 0


@behaviour()
async def the_longest_record(dut: Any) -> None:
    bench = await Bench(dut, never()).start()
    made = [Record(MAX_CAPTURED, random.randbytes(MAX_CAPTURED)), Record(9, bytes(9))]
    await bench.run(made, never(), never())
    bench.check(made)


@behaviour()
async def after_a_rewind_the_next_byte_goes_where_it_says(dut: Any) -> None:
    bench = await Bench(dut, never()).start()
    for lane in random.choices(range(bench.size), k=12):
        await bench.run(records(3, 100, 0.0), never(), never())
        dut.rewind_lane.value = lane
        dut.rewind.value = 1
        await cycles(dut.clk, 1)
        dut.rewind.value = 0
        bench.sink.taken.clear()
        again = records(3, 100, 0.0)
        await bench.run(again, never(), never())
        assert bench.bytes()[lane:] == b"".join(record.bytes() for record in again)


@behaviour()
@cocotb.parametrize(words=[0, 1, 2, 3])
async def reset_forgets_a_beat_that_fills_two_words(dut: Any, words: int) -> None:
    """Nothing is taken: with so many words before it, the beat stands before its first word, between both or behind."""
    bench = Bench(dut, never())
    await start(dut, *INPUTS)
    before = max((words + 1) * bench.size - 8 - HEADER_BYTES, 0)  # the next record begins 8 bytes before a word's end
    made = [Record(length, random.randbytes(length)) for length in (before, 4 * bench.size)]
    offered = [cocotb.start_soon(source.run()) for source in bench.sources(made, never(), never())]
    await cycles(dut.clk, 30)
    for task in offered:
        task.cancel()
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 1)
    dut.rst.value = 0
    made = records(10, 300)
    await bench.attend().run(made, never(), never())
    bench.check(made)
