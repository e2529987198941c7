"""packet_fifo between the bus models of cocotbext-axi."""

import itertools
import logging
import random
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from headrace.testing.streams import behaviour, cycles, mostly, start


@behaviour()
@cocotb.parametrize(stalled=[None, "source", "sink"])
async def bytes_of_every_frame_arrive(dut: Any, stalled: str | None) -> None:
    await start(dut)
    ends = []
    for cls, side in ((AxiStreamSource, "s_axis"), (AxiStreamSink, "m_axis")):
        logging.getLogger(f"cocotb.{dut._name}.{side}").setLevel(logging.WARNING)
        ends.append(cls(AxiStreamBus.from_prefix(dut, side), dut.clk, dut.rst))
    source, sink = ends
    if stalled == "source":
        source.set_pause_generator(mostly())
    # A MAC does not wait either: a FIFO that drops is not held off for longer than it can bear.
    if stalled == "sink":
        sink.set_pause_generator(mostly() if not dut.DROP_WHEN_FULL.value else itertools.cycle([0, 0, 0, 1]))
    dut.s_drop.value = 0
    await cycles(dut.clk, 2)
    frames = [
        AxiStreamFrame(random.randbytes(size), tuser=random.getrandbits(33)) for size in [1, 7, 8, 9, 64, 100, 255, 256]
    ]
    for frame in frames:
        await source.send(frame)
        if dut.DROP_WHEN_FULL.value:
            await source.wait()
            await cycles(dut.clk, 16)
    for frame in frames:
        received = await with_timeout(sink.recv(), 100, "us")
        assert bytes(received.tdata) == bytes(frame.tdata)
        assert received.tuser == frame.tuser
    assert sink.empty()
