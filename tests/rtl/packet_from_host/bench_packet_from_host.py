"""What is promised of packets from the host: their heads say where they begin, and what is cut is dropped and told."""

import random
import struct
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    start,
    until,
)

HEAD = 64


def packet(size: int) -> tuple[bytes, int]:
    """A packet with its head, and what the head says as source_t."""
    in_port, table, program, metadata, tunnel = (random.getrandbits(width) for width in (8, 4, 16, 64, 64))
    words = in_port | table << 8 | random.getrandbits(4) << 12 | program << 16
    head = struct.pack("<IIQQ", words, random.getrandbits(32), metadata, tunnel) + random.randbytes(HEAD - 24)
    return head + random.randbytes(size), ((in_port << 4 | table) << 80 | program << 64 | metadata) << 64 | tunnel


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), PAIRS))
async def packets_begin_where_their_heads_say_or_are_told_as_dropped(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    width = len(dut.s_axis_tdata)
    words, due, count = [], [], 120
    for _ in range(count):
        data, source = packet(random.choice((1, 60, 64, 65, random.randrange(1, 600))))
        cut, short = random.random() < 0.1, random.random() < 0.1
        words += frame_words(data[: random.randrange(1, HEAD + 1)] if short else data, width, lambda cut=cut: int(cut))
        if not cut and not short:
            due.append((data[HEAD:], source))
    await start(dut)
    names = ("data", "keep", "last")
    payload = (*(getattr(dut, f"s_axis_t{name}") for name in names), dut.s_axis_cut)
    source_end = Source(Channel(dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, payload), words, stalls())
    outputs = (*(getattr(dut, f"m_axis_t{name}") for name in names), dut.m_source)
    sink = Sink(Channel(dut.clk, dut.m_axis_tvalid, dut.m_axis_tready, outputs), sink_stalls())
    pulses = {"taken": 0, "dropped": 0}

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            for name in pulses:
                pulses[name] += int(getattr(dut, name).value)

    cocotb.start_soon(watch())
    cocotb.start_soon(sink.run())
    await source_end.run()
    await until(dut.clk, lambda: bool(dut.idle.value), 20_000)
    await cycles(dut.clk, 20)
    found = frames_of(sink.taken)
    assert all(len(set(users)) == 1 for _, users in found)
    assert [(data, users[0]) for data, users in found] == due
    assert pulses == {"taken": count, "dropped": count - len(due)}
