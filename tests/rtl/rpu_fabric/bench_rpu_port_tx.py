"""What the way out of an Ethernet port promises: whole packets, without a gap inside, each with the time it begins."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.testing.streams import behaviour, frame_words, mostly, never, seldom, start, until


@behaviour()
@cocotb.parametrize(source=[never, mostly], sink=[never, seldom])
async def packets_leave_whole_with_their_time_or_are_told(dut: Any, source: Any, sink: Any) -> None:
    step, most = len(dut.s_axis_tdata) // 8, 1024 * int(dut.STORE_KB.value)
    gaps, stalls = source(), sink()
    packets = [random.randbytes(random.choice((1, step, step + 1, 100, 900, most, most + 1))) for _ in range(60)]
    cut = [random.random() < 0.2 for _ in packets]
    out: list[tuple[bytes, int]] = []
    begun: list[int] = []
    seen = {"time": 0, "dropped": 0}

    async def watch() -> None:
        data, waits = b"", False
        while True:
            ready = not next(stalls)
            dut.tx_tready.value = int(ready)
            seen["time"] += 4
            dut.time_ns.value = seen["time"]
            await RisingEdge(dut.clk)
            seen["dropped"] += int(dut.dropped.value)
            valid = bool(dut.tx_tvalid.value)
            assert valid or not data, "a gap inside a packet"
            if valid and not data and not waits:
                begun.append(int(dut.time_ns.value))
            waits = valid and not ready
            if valid and ready:
                count = int(dut.tx_tkeep.value).bit_count()
                data += (int(dut.tx_tdata.value) & (1 << 8 * count) - 1).to_bytes(count, "little")
                stamp = int(dut.tx_tuser.value) & (1 << 64) - 1
                assert stamp == begun[-1]
                if dut.tx_tlast.value:
                    out.append((data, stamp))
                    data = b""

    await start(dut)
    cocotb.start_soon(watch())
    for data, bad in zip(packets, cut, strict=True):
        for tdata, tkeep, tlast, _ in frame_words(data, 8 * step, lambda: 0):
            while next(gaps):
                dut.s_axis_tvalid.value = 0
                await RisingEdge(dut.clk)
            dut.s_axis_tvalid.value = 1
            dut.s_axis_tdata.value, dut.s_axis_tkeep.value, dut.s_axis_tlast.value = tdata, tkeep, tlast
            dut.s_cut.value = int(bad and tlast)
            await RisingEdge(dut.clk)
            while not dut.s_axis_tready.value:
                await RisingEdge(dut.clk)
    dut.s_axis_tvalid.value = 0
    await until(dut.clk, lambda: bool(dut.idle.value), 5000)
    kept = [data for data, bad in zip(packets, cut, strict=True) if not bad and len(data) <= most]
    assert [data for data, _ in out] == kept
    assert seen["dropped"] == len(packets) - len(kept)
