"""The engine with filters around it: packets of memory leave as frames, and come back or not."""

import random
from itertools import chain
from typing import Any

import cocotb
from capture.engine import Engine, lengths
from capture.host import DECERR

from headrace.testing.streams import PAIRS, behaviour, cycles, never, seldom, until


@behaviour()
@cocotb.parametrize((("stalls", "filter_stalls"), PAIRS))
async def packets_that_the_filter_keeps_are_in_the_ring(dut: Any, stalls: Any, filter_stalls: Any) -> None:
    engine = await Engine(dut, ring_log2=11, stalls=stalls, latency=lambda: random.randint(1, 20)).start()
    bad = [random.random() < 0.2 for _ in range(40)]
    cocotb.start_soon(engine.filter(lambda packet: len(packet.data) % 3 != 0, filter_stalls(), filter_stalls()))
    packets = [engine.put(n or wrong, DECERR if wrong else 0) for n, wrong in zip(lengths(40), bad, strict=True)]
    await engine.post(list(chain.from_iterable(packets)))
    await until(dut.clk, lambda: engine.returned == 40, 60_000)
    await engine.finish()
    assert engine.counts.read_error == sum(bad) == engine.counts.dropped
    came = [packet.number for packet in engine.came]
    kept = [packet.number for packet in engine.expected.values() if not bad[packet.number]]
    assert came == kept and 5 < len(kept) < 40


@behaviour()
@cocotb.parametrize(snaplen=[0, 1, 20, 100])
async def the_filter_sees_packets_whole_and_the_snaplen_cuts_records_only(dut: Any, snaplen: int) -> None:
    engine = await Engine(dut, ring_log2=11, snaplen=snaplen).start()
    cocotb.start_soon(engine.filter(lambda packet: packet.data[-1:] != b"\0", never(), seldom()))
    sizes = [random.randint(21, 300) for _ in range(30)]
    await engine.post(list(chain.from_iterable(engine.put(n) for n in sizes)))
    await until(dut.clk, lambda: engine.returned == len(sizes), 60_000)
    await engine.finish()
    engine.all_came()
    assert {len(packet.data) for packet in engine.came} <= {*sizes, snaplen} and len(engine.came) > 20


@behaviour()
async def a_filter_that_waits_holds_packets_back(dut: Any) -> None:
    engine = await Engine(dut, ring_log2=11).start()
    sizes = [random.randint(1, 200) for _ in range(60)]
    posting = cocotb.start_soon(engine.post(list(chain.from_iterable(engine.put(n) for n in sizes))))
    await cycles(dut.clk, 2500)
    assert not engine.returned and not engine.producer and not dut.idle.value
    ahead = int(dut.SLOTS.value) + int(dut.READ_BUFFER.value)
    assert engine.host.read_beats < 2000 + ahead
    cocotb.start_soon(engine.filter(lambda _: True, never(), never()))
    await posting
    await until(dut.clk, lambda: engine.returned == len(sizes), 60_000)
    await engine.finish()
    engine.all_came()
