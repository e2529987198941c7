"""What is promised of copies: each comes to all its ports, the host gets as much as it asked for, behind a head."""

import random
import struct
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.cards.switch.layout import SENT, Struct
from headrace.testing.streams import (
    PATTERNS,
    Channel,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    gaps,
    never,
    start,
    until,
)

HEAD = 64
SOURCE = Struct(in_port=8, next=4, program_at=16, metadata=64, tunnel_id=64)
Sent = dict[str, int]


def copy(**chosen: int) -> Sent:
    """Where a copy goes, at random but for what is chosen."""
    values = {name: random.getrandbits(SENT.width_of(name)) for name in SENT.members}
    values |= {"host": random.random() < 0.3, "resubmit": random.random() < 0.2, "bytes": random.randrange(1 << 17)}
    values["max_bytes"] = random.choice((0, 1, 63, 64, 65, 128, random.randrange(700), 0xFFFF))
    return values | chosen


async def split(
    dut: Any, copies: list[tuple[bytes, Sent]], stalls: Any
) -> tuple[dict[int, list[bytes]], Any, Any, Source]:
    """Send copies; gives what came to ports, to the host, and to the parser with its source_t."""
    await start(dut)
    width = len(dut.s_axis_tdata)
    words = [word for data, sent in copies for word in frame_words(data, width, lambda sent=sent: SENT.pack(**sent))]
    payload = (dut.s_axis_tdata, dut.s_axis_tkeep, dut.s_axis_tlast, dut.s_sent)
    source = Source(Channel(dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, payload), words, stalls())
    beats: list[tuple[int, tuple[int, ...]]] = []
    host: list[tuple[int, ...]] = []
    again: list[tuple[int, ...]] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            beat = int(dut.m_data.value), int(dut.m_keep.value), int(dut.m_last.value)
            beats.append((int(dut.port_valid.value), (*beat, 0)))
            if dut.again_valid.value:
                again.append((*beat, int(dut.again_source.value)))
            if dut.host_valid.value:
                host.append((int(dut.host_data.value), int(dut.host_keep.value), int(dut.host_last.value), 0))

    cocotb.start_soon(watch())
    await source.run()
    await until(dut.clk, lambda: bool(dut.idle.value), 1000)
    await cycles(dut.clk, 10)
    ports = {
        port: [data for data, _ in frames_of(beat for valid, beat in beats if valid >> port & 1)] for port in range(64)
    }
    return ports, [data for data, _ in frames_of(host)], frames_of(again), source


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def each_copy_comes_to_where_it_is_for(dut: Any, stalls: Any) -> None:
    copies = [(random.randbytes(random.choice((1, 60, 64, 65, random.randrange(1, 600)))), copy()) for _ in range(150)]
    ports, host, again, _ = await split(dut, copies, stalls)
    for port, found in ports.items():
        assert found == [data for data, sent in copies if sent["ports"] >> port & 1]
    due = []
    for data, sent in copies:
        if sent["host"]:
            names = ("in_port", "reason", "origin", "bytes", "metadata", "tunnel_id")
            head = struct.pack("<BBHIQQ", *(sent[name] for name in names))
            due.append(head.ljust(HEAD, b"\0") + data[: sent["max_bytes"]])
    assert host == due
    assert [(data, users[0]) for data, users in again] == [
        (data, SOURCE.pack(**{name: sent[name] for name in SOURCE.members}))
        for data, sent in copies
        if sent["resubmit"]
    ]


@behaviour()
async def a_beat_a_cycle_but_for_heads(dut: Any) -> None:
    copies = [(random.randbytes(60), copy(host=i % 4 == 0)) for i in range(80)]
    source = (await split(dut, copies, never))[-1]
    assert gaps(source.times_ps) == 20 * (HEAD * 8 // len(dut.s_axis_tdata))
