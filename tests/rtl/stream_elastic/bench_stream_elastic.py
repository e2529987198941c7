"""What the way between two MACs promises, on clocks that differ by 200 ppm and by more."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer

from headrace.testing.streams import (
    Channel,
    Sink,
    Stalls,
    bursts,
    cycles,
    frame_words,
    frames_of,
    mostly,
    never,
    seldom,
    together,
    watch_no_path,
)

CLOCKS = [(10_000, 10_002), (10_002, 10_000), (10_000, 10_000), (10_000, 3_104)]  # periods in ps


class Mac:
    """Sends frames as a MAC does: it can't wait, and goes on whatever the block does. Notes what it lost."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.sent: list[bytes] = []
        self.lost = 0

    async def start(self, clocks: tuple[int, int]) -> "Mac":
        dut = self.dut
        dut.s_axis_tvalid.value = dut.m_axis_tready.value = 0
        dut.s_rst.value = dut.m_rst.value = 1
        Clock(dut.s_clk, clocks[0], "ps", impl="gpi").start()
        await Timer(random.randrange(2000), "ps")
        Clock(dut.m_clk, clocks[1], "ps", impl="gpi").start()
        await Timer(12 * max(clocks), "ps")
        for side in random.sample(("s", "m"), 2):
            await cycles(getattr(dut, f"{side}_clk"), 1)
            getattr(dut, f"{side}_rst").value = 0
        await cycles(dut.s_clk, 20)
        for side in ("s", "m"):
            cocotb.start_soon(self._count(getattr(dut, f"{side}_clk"), getattr(dut, f"{side}_dropped")))
        return self

    async def _count(self, clk: Any, dropped: Any) -> None:
        while True:
            await RisingEdge(clk)
            self.lost += int(dropped.value)

    async def send(self, data: bytes, gap: int, stalls: Stalls) -> None:
        """Send a frame and `gap` idle cycles; a stall is a cycle in which the MAC has no beat."""
        dut, edge = self.dut, RisingEdge(self.dut.s_clk)
        user = len(self.sent) % 2
        for tdata, tkeep, tlast, tuser in frame_words(data, len(dut.s_axis_tdata), lambda: user):
            while next(stalls):
                dut.s_axis_tvalid.value = 0
                await edge
            dut.s_axis_tdata.value, dut.s_axis_tkeep.value = tdata, tkeep
            dut.s_axis_tlast.value, dut.s_axis_tuser.value = tlast, tuser
            dut.s_axis_tvalid.value = 1
            await edge
            assert dut.s_axis_tready.value or not int(dut.DROP_WHEN_FULL.value)
            while not dut.s_axis_tready.value:
                await edge
        dut.s_axis_tvalid.value = 0
        self.sent.append(data)
        await cycles(dut.s_clk, gap)


async def watch_never_dry(dut: Any) -> None:
    """Within a frame a beat is on offer in every cycle."""
    inside = False
    while True:
        await RisingEdge(dut.m_clk)
        assert dut.m_axis_tvalid.value or not inside, "a frame ran dry"
        if dut.m_axis_tvalid.value and dut.m_axis_tready.value:
            inside = not dut.m_axis_tlast.value


def sink(dut: Any, stalls: Stalls) -> Sink:
    """Takes frames on the other side."""
    end = Sink(Channel.axis(dut, "m", dut.m_clk), stalls)
    cocotb.start_soon(end.run())
    cocotb.start_soon(watch_never_dry(dut))
    return end


async def settle(dut: Any) -> None:
    """Wait until nothing is inside any more."""
    for _ in range(20_000):
        await cycles(dut.m_clk, 20)
        if dut.m_idle.value and not dut.m_axis_tvalid.value:
            return
    raise AssertionError("never idle")


def behaviour() -> Any:
    return cocotb.test(timeout_time=20, timeout_unit="ms")


@behaviour()
@cocotb.parametrize((("clocks", "sending"), together(CLOCKS[:3], [never, seldom])))
async def nothing_is_lost_between_clocks_of_200_ppm(dut: Any, clocks: Any, sending: Any) -> None:
    mac = await Mac(dut).start(clocks)
    end = sink(dut, never())
    longest = int(dut.DEPTH.value) * len(dut.s_axis_tkeep)
    for _ in range(150):
        size = random.choice((1, random.randint(60, 130), random.randint(1, longest // 2)))
        await mac.send(random.randbytes(size), random.choice((1, 1, 2, 12)), sending())
    await settle(dut)
    assert [data for data, _ in frames_of(end.taken)] == mac.sent and not mac.lost


@behaviour()
@cocotb.parametrize((("clocks", "taking"), together(CLOCKS, [mostly, bursts])))
async def frames_without_room_are_dropped_whole_and_counted(dut: Any, clocks: Any, taking: Any) -> None:
    if not int(dut.DROP_WHEN_FULL.value):
        return
    mac = await Mac(dut).start(clocks)
    end = sink(dut, taking())
    longest = int(dut.DEPTH.value) * len(dut.s_axis_tkeep)
    for _ in range(200):
        await mac.send(random.randbytes(random.randint(1, longest + 20)), random.choice((0, 0, 1, 20)), never())
    await settle(dut)
    came = [data for data, _ in frames_of(end.taken)]
    rest = iter(mac.sent)
    assert all(data in rest for data in came), "a frame that was never sent, or out of order"
    assert len(came) + mac.lost == len(mac.sent) and mac.lost and came


@behaviour()
async def a_slow_side_loses_frames_in_the_crossing_too_and_counts_them(dut: Any) -> None:
    """The output's clock at a fifth of the input's: even the crossing overflows."""
    if not int(dut.DROP_WHEN_FULL.value):
        return
    mac = await Mac(dut).start((2_000, 10_004))
    end = sink(dut, never())
    for _ in range(300):
        await mac.send(random.randbytes(random.choice((1, 8, random.randint(1, 400)))), 0, never())
    await settle(dut)
    came = [data for data, _ in frames_of(end.taken)]
    rest = iter(mac.sent)
    assert all(data in rest for data in came)
    assert len(came) + mac.lost == len(mac.sent) and mac.lost and came


@behaviour()
async def without_dropping_the_input_waits_and_ready_does_not_pass_through(dut: Any) -> None:
    if int(dut.DROP_WHEN_FULL.value):
        return
    mac = await Mac(dut).start((10_000, 10_002))
    cocotb.start_soon(watch_no_path(dut.m_clk, dut.m_axis_tready, dut.s_axis_tready))
    end = sink(dut, mostly())
    for _ in range(60):
        await mac.send(random.randbytes(random.randint(1, 200)), 0, seldom())
    await settle(dut)
    assert [data for data, _ in frames_of(end.taken)] == mac.sent and not mac.lost


@behaviour()
@cocotb.parametrize(clocks=CLOCKS)
async def the_rest_of_a_frame_after_a_reset_is_no_frame(dut: Any, clocks: Any) -> None:
    """The link goes on while the card is reset."""
    if not int(dut.DROP_WHEN_FULL.value):
        return
    mac = await Mac(dut).start(clocks)
    end = sink(dut, never())
    for round_ in range(12):
        cut = cocotb.start_soon(mac.send(random.randbytes(80 * len(dut.s_axis_tkeep)), 1, never()))
        await cycles(dut.s_clk, random.randint(1, 20))
        dut.s_rst.value = dut.m_rst.value = 1
        await cycles(dut.s_clk, 16)
        end.taken.clear()
        dut.s_rst.value = dut.m_rst.value = 0
        await cut
        mac.sent.clear()
        mac.lost = 0
        for _ in range(3):
            await mac.send(random.randbytes(random.randint(1, 300)), round_ % 3, never())
        await settle(dut)
        assert [data for data, _ in frames_of(end.taken)] == mac.sent and not mac.lost


@behaviour()
async def after_a_reset_between_frames_the_first_one_counts(dut: Any) -> None:
    mac = await Mac(dut).start((10_000, 10_002))
    end = sink(dut, never())
    await mac.send(random.randbytes(100), 40, never())
    await settle(dut)
    dut.s_rst.value = dut.m_rst.value = 1
    await cycles(dut.s_clk, 16)
    dut.s_rst.value = dut.m_rst.value = 0
    await cycles(dut.s_clk, 8)
    await mac.send(random.randbytes(100), 1, never())
    await settle(dut)
    assert [data for data, _ in frames_of(end.taken)] == mac.sent
