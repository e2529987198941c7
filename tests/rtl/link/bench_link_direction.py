"""What a direction of an emulated link promises: each frame leaves when and as the settings say, or is counted where it
was dropped; frames wait in host memory where RAM has no room; nothing moves while `idle` says so."""

import logging
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import cocotb
from capture.host import DECERR, OKAY, Host
from cocotb.triggers import RisingEdge
from link_model import ONES, UNIT, LinkModel, Settings

from headrace.testing.streams import (
    PATTERNS,
    SOAK,
    Channel,
    Sink,
    Source,
    behaviour,
    bursts,
    frame_words,
    never,
    seldom,
    start,
    together,
)

STEP_NS = 3  # a cycle
LATE_NS = 20 * STEP_NS  # that a frame leaves after its time at most
LEAD_NS = 600
FAR_NS = 2 * LEAD_NS + 300  # what waits so long may go by host memory
ENTERED = ("received", "bad", "too_long", "no_room")
DECIDED = ("lost", "limited", "duplicated", "corrupted", "reordered")
SEED = [random.Random(7).getrandbits(32) for _ in range(4)]

logging.getLogger("cocotb").setLevel(logging.WARNING)


@dataclass
class Bench:
    """A direction, what it has told, and the times at which frames were in."""

    dut: Any
    host: Host
    told: Counter[str] = field(default_factory=Counter)
    arrivals: list[int] = field(default_factory=list)
    now: int = 10_000
    leaps: bool = False  # time may go on in leaps
    skips: int = 0

    async def begin(self, settings: Settings, table: list[int] | None = None) -> None:
        """Resets the block, and sets it."""
        dut = self.dut
        for name in ("hold", "hold_link", "memory", "seed_valid", "table_valid"):
            getattr(dut, name).value = 0
        dut.base.value = 0x7_0000_0000
        dut.settings.value = settings.packed()
        dut.time_ns.value = self.now
        for name in ("awready", "wready", "bvalid", "arready", "rvalid", "rlast"):
            getattr(dut, f"m_axi_{name}").value = 0
        await start(dut)
        dut.memory.value = 1
        dut.seed.value = sum(word << 32 * number for number, word in enumerate(SEED))
        dut.seed_valid.value = 1
        await RisingEdge(dut.clk)
        dut.seed_valid.value = 0
        for index, value in enumerate(table or []):
            dut.table_valid.value, dut.table_index.value, dut.table_value.value = 1, index, value & 0xFFFF
            await RisingEdge(dut.clk)
        dut.table_valid.value = 0
        cocotb.start_soon(self.host.run())
        cocotb.start_soon(self.watch())

    async def watch(self) -> None:
        """Lets time go on, perhaps in leaps while the block rests, and counts what is told; for ever."""
        dut = self.dut
        resting = 0
        while True:
            self.now += STEP_NS
            resting = resting + 1 if dut.idle.value and not dut.m_axi_rvalid.value else 0
            wake = int(dut.wake_ns.value)
            if self.leaps and resting > 4 and self.now < wake != (1 << 64) - 1:
                self.now = wake  # exactly its time: the block must know by itself
                self.skips += 1
                resting = 0
            dut.time_ns.value = self.now
            await RisingEdge(dut.clk)
            entered, decided = int(dut.entered.value), int(dut.decided.value)
            for place, name in enumerate(reversed(ENTERED)):
                self.told[name] += entered >> place & 1
            for place, name in enumerate(reversed(DECIDED)):
                self.told[name] += decided >> place & 1
            self.told["failed"] += int(dut.failed.value)
            self.told["sent"] += int(dut.sent.value)
            if dut.s_axis_tvalid.value and dut.s_axis_tready.value and dut.s_axis_tlast.value:
                self.arrivals.append(self.now)

    async def run(
        self,
        frames: list[tuple[bytes, bool]],
        stalls: Any = never,
        sink_stalls: Any = never,
        pause: Callable[[], int] = lambda: 0,
        leaps: bool = False,
    ) -> list[tuple[bytes, int]]:
        """Sends frames (bytes, and whether bad), each after a pause in cycles; waits until all have gone. Gives what
        came out, with its times. ``leaps``: time may leap while frames come, too."""
        self.leaps = leaps
        dut = self.dut
        channel = Channel.axis(dut, "m")
        sink = Sink(channel, sink_stalls())
        cocotb.start_soon(sink.run())
        pattern = stalls()
        for data, bad in frames:
            words = frame_words(data, len(dut.s_axis_tdata), lambda bad=bad: int(bad))
            await Source(Channel.axis(dut, "s"), words, pattern).run()
            for _ in range(pause()):
                await RisingEdge(dut.clk)
        self.leaps = True
        calm = 0
        for _ in range(60_000):
            await RisingEdge(dut.clk)
            calm = calm + 1 if dut.idle.value and not int(dut.queued.value) else 0
            if calm > 20:
                break
        assert calm > 20, "frames stay inside"
        assert int(dut.wake_ns.value) == (1 << 64) - 1
        return frames_with_times(sink.taken)

    def check_sums(self) -> None:
        """Every frame is accounted for."""
        told = self.told
        dropped = sum(told[name] for name in ("bad", "too_long", "no_room", "lost", "limited", "failed"))
        assert told["received"] + told["duplicated"] == dropped + told["sent"]


def frames_with_times(words: list[tuple[int, ...]]) -> list[tuple[bytes, int]]:
    """Frames that a sink has taken, and the times beside them."""
    found, data, times = [], b"", set()
    for tdata, tkeep, tlast, time_ns in words:
        count = tkeep.bit_count()
        data += (tdata & (1 << 8 * count) - 1).to_bytes(count, "little")
        times.add(time_ns)
        if tlast:
            assert len(times) == 1
            found.append((data, times.pop()))
            data, times = b"", set()
    return found


def a_bench(dut: Any, stalls: Any = never, **options: Any) -> Bench:
    """With host memory that answers after a random time."""
    host = Host(dut=dut, stalls=stalls, latency=lambda: random.randint(5, 40), **options)
    return Bench(dut, host)


def some_frames(count: int, longest: int = 700) -> list[tuple[bytes, bool]]:
    sizes = (random.choice((60, 64, random.randint(1, longest))) for _ in range(count))
    return [(random.randbytes(size), False) for size in sizes]


def modelled(bench: Bench, settings: Settings, frames: list[tuple[bytes, bool]], table: Any = None) -> Any:
    """What leaves, and the model."""
    model = LinkModel(settings, SEED, table or [])
    leaving = [
        one for (data, _), time_ns in zip(frames, bench.arrivals, strict=True) for one in model.arrive(time_ns, data)
    ]
    return leaving, model


def check(bench: Bench, found: list[tuple[bytes, int]], settings: Settings, frames: Any, table: Any = None) -> None:
    """Each copy leaves once, in the order of their times, each at its time or when the one before it has gone."""
    leaving, model = modelled(bench, settings, frames, table)
    assert Counter(data for data, _ in found) == Counter(one.data for one in leaving)
    expected = sorted(leaving, key=lambda one: one.leave_ns)
    times = {one.leave_ns for one in expected}
    if len(times) == len(expected):
        assert [data for data, _ in found] == [one.data for one in expected]
    width = len(bench.dut.s_axis_tkeep)
    free = 0
    for (data, at), one in zip(found, expected, strict=True):
        assert one.leave_ns <= at <= max(one.leave_ns, free) + LATE_NS
        free = at + STEP_NS * (len(data) // width + 4)
    for name in ("lost", "duplicated", "corrupted", "reordered"):
        assert bench.told[name] == model.counts[name], name
    bench.check_sums()


def a_threshold(most: float = 0.5) -> int:
    return random.choice((0, round(random.uniform(0.02, most) * ONES)))


def any_settings() -> Settings:
    """Whose frames all wait long enough to leave in the order of their times."""
    jitter = random.choice((0, random.randint(1, 3000)))
    return Settings(
        delay_ns=FAR_NS + jitter + random.randint(0, 4000),
        jitter_ns=jitter,
        byte_time=random.choice((0, 0, random.randint(1, 20 * UNIT))),
        overhead=random.choice((0, random.randint(-80, 60))),
        loss=random.randint(0, 2),
        p=a_threshold(),
        r=a_threshold(),
        bad_loss=a_threshold(1),
        good_loss=a_threshold(),
        duplicate=a_threshold(),
        corrupt=a_threshold(),
        reorder=0,
        rho=tuple(random.choice((0, random.getrandbits(32))) for _ in range(4)),  # type: ignore[arg-type]
        jitter_step=random.choice((0, random.getrandbits(32))),
        lead_ns=LEAD_NS,
    )


@behaviour()
@cocotb.parametrize(trial=range(12 if SOAK else 4))
async def each_frame_leaves_when_and_as_the_settings_say(dut: Any, trial: int) -> None:
    random.seed(trial)
    settings = any_settings()
    bench = a_bench(dut, random.choice((never, seldom)))
    await bench.begin(settings)
    frames = some_frames(60)
    found = await bench.run(frames, seldom, pause=lambda: random.choice((40, 200)), leaps=True)
    check(bench, found, settings, frames)
    assert bench.skips, "time is never skipped"


@behaviour()
@cocotb.parametrize((("stalls", "sink_stalls"), together(PATTERNS, [never, bursts])))
async def nothing_is_lost_or_changed_under_stalls(dut: Any, stalls: Any, sink_stalls: Any) -> None:
    """On all three ways: in RAM in order, at once, by host memory."""
    settings = Settings(
        delay_ns=FAR_NS + 1500, jitter_ns=1500, reorder=ONES // 4, gap=3, duplicate=ONES // 10, lead_ns=LEAD_NS
    )
    bench = a_bench(dut, stalls)
    await bench.begin(settings)
    frames = some_frames(50)
    found = await bench.run(frames, stalls, sink_stalls, pause=lambda: random.randint(0, 60))
    leaving, model = modelled(bench, settings, frames)
    assert Counter(data for data, _ in found) == Counter(one.data for one in leaving)
    assert bench.told["reordered"] == model.counts["reordered"]
    bench.check_sums()
    assert bench.host.read_beats and bench.told["reordered"]


@behaviour()
async def a_frame_without_delay_goes_through_at_once(dut: Any) -> None:
    settings = Settings(lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = some_frames(20, 400)
    found = await bench.run(frames, pause=lambda: 60)
    assert [data for data, _ in found] == [data for data, _ in frames]
    assert max(at - arrived for (_, at), arrived in zip(found, bench.arrivals, strict=True)) <= 50 * STEP_NS
    assert not bench.host.write_beats


@behaviour()
async def a_reordered_frame_overtakes_those_that_wait(dut: Any) -> None:
    settings = Settings(delay_ns=8000, reorder=ONES, gap=5, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = some_frames(25, 100)
    found = await bench.run(frames, pause=lambda: 40)
    order = [[data for data, _ in frames].index(data) for data, _ in found]
    assert order[:5] == [4, 9, 14, 19, 24]
    assert order[5:] == [number for number in range(25) if number % 5 != 4]
    first = dict(found)
    assert all(first[frames[n][0]] - bench.arrivals[n] <= 50 * STEP_NS for n in order[:5])


@behaviour()
async def jitter_has_the_tables_distribution(dut: Any) -> None:
    table = sorted(random.Random(3).randint(-32768, 32767) for _ in range(4096))
    settings = Settings(delay_ns=9000, jitter_ns=1500, shaped=True, jitter_step=ONES // 3, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings, table)
    frames = some_frames(80, 80)
    found = await bench.run(frames, pause=lambda: 40)
    check(bench, found, settings, frames, table)


@behaviour()
@cocotb.parametrize(trial=range(4))
async def short_delays_with_jitter_are_kept(dut: Any, trial: int) -> None:
    """Frames that wait for less than a fetch from host memory takes overtake each other, as their times say."""
    random.seed(trial)
    settings = Settings(delay_ns=900, jitter_ns=450, duplicate=a_threshold(0.2), reorder=0, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = some_frames(120, 100)
    found = await bench.run(frames, pause=lambda: random.choice((0, 20, 60)), leaps=trial > 1)
    check(bench, found, settings, frames)
    order = [[data for data, _ in frames].index(data) for data, _ in found]
    assert order != sorted(order)


@behaviour()
async def a_delay_below_zero_is_none(dut: Any) -> None:
    """So the time that the rate takes counts from when a frame came."""
    settings = Settings(delay_ns=300, jitter_ns=3000, byte_time=8 * UNIT, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = some_frames(60, 100)
    found = await bench.run(frames, pause=lambda: random.choice((200, 600)))
    check(bench, found, settings, frames)


@behaviour()
@cocotb.parametrize(
    (
        ("cycles", "settings"),
        [
            (10, Settings()),
            (25, Settings(0, 9, byte_time=1, loss=1, p=1, corrupt=1, duplicate=1)),
            (41, Settings(0, 9, ONES // 2, byte_time=1, loss=1, p=1, corrupt=1, duplicate=1, rho=(ONES // 2,) * 4)),
        ],
    )
)
async def a_copy_takes_as_long_as_the_manual_says(dut: Any, cycles: int, settings: Settings) -> None:
    bench = a_bench(dut)
    await bench.begin(replace(settings, lead_ns=LEAD_NS))
    dut.hold_link.value = 1
    beats = 4
    found = await bench.run([(random.randbytes(beats * len(dut.s_axis_tkeep)), False) for _ in range(100)])
    assert found[-1][1] - found[50][1] == 49 * (cycles + beats) * STEP_NS


@behaviour()
async def bursts_wait_for_the_rate_in_host_memory(dut: Any) -> None:
    """40 frames of 700 bytes: much more than the RAM has room for."""
    settings = Settings(byte_time=8 * UNIT, lead_ns=LEAD_NS)
    bench = a_bench(dut, seldom)
    await bench.begin(settings)
    frames = [(random.randbytes(700), False) for _ in range(40)]
    found = await bench.run(frames, pause=lambda: 20)
    check(bench, found, settings, frames)
    assert [data for data, _ in found] == [data for data, _ in frames]
    assert bench.host.write_beats > 40 * 700 // len(dut.s_axis_tkeep) // 2


@behaviour()
async def what_is_above_the_limit_is_dropped(dut: Any) -> None:
    settings = Settings(delay_ns=20_000, limit=10, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = some_frames(30, 100)
    found = await bench.run(frames, pause=lambda: 40)
    assert [data for data, _ in found] == [data for data, _ in frames[:10]]
    assert bench.told["limited"] == 20
    bench.check_sums()


@behaviour()
async def without_host_memory_what_finds_no_room_is_dropped(dut: Any) -> None:
    settings = Settings(delay_ns=60_000, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    dut.memory.value = 0
    frames = [(random.randbytes(1000), False) for _ in range(12)]
    found = await bench.run(frames, pause=lambda: 40)
    room = int(dut.STORE_KB.value) * 1024 // (-(-1000 // len(dut.s_axis_tkeep)) * len(dut.s_axis_tkeep))
    assert [data for data, _ in found] == [data for data, _ in frames[:room]]
    assert bench.told["limited"] == 12 - room
    assert not bench.host.write_beats
    bench.check_sums()


@behaviour()
async def as_many_wait_in_host_memory_as_there_are_slots(dut: Any) -> None:
    slots = int(dut.SLOTS.value)
    settings = Settings(delay_ns=400_000, jitter_ns=100_000, limit=10_000, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = [(random.randbytes(60), False) for _ in range(slots + 250)]
    found = await bench.run(frames, pause=lambda: 30)
    assert bench.told["limited"] and len(found) > slots
    sent = {data for data, _ in found}
    leaving, _ = modelled(bench, settings, frames)
    # A model without limits keeps its random numbers: none is drawn after the place is looked for.
    expected = sorted((one for one in leaving if one.data in sent), key=lambda one: one.leave_ns)
    assert all(one.leave_ns <= at <= one.leave_ns + 8 * LATE_NS for (_, at), one in zip(found, expected, strict=True))
    bench.check_sums()


@behaviour()
async def bad_frames_and_those_that_are_too_long_are_dropped(dut: Any) -> None:
    longest = int(dut.FRAME_KB.value) * 1024
    settings = Settings(delay_ns=3000, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    good = [(random.randbytes(size), False) for size in (60, longest, 61)]
    frames = [good[0], (random.randbytes(80), True), good[1], (random.randbytes(longest + 1), False), good[2]]
    found = await bench.run(frames, pause=lambda: 300)
    assert [data for data, _ in found] == [data for data, _ in good]
    assert (bench.told["bad"], bench.told["too_long"]) == (1, 1)
    bench.check_sums()


@behaviour()
@cocotb.parametrize(hold=[0, 1])
async def frames_that_come_too_fast_are_dropped_or_held_off(dut: Any, hold: int) -> None:
    """One decision after the other, each with a multiplication for every setting."""
    settings = Settings(
        delay_ns=3000,
        loss=1,
        p=1,
        corrupt=1,
        duplicate=1,
        jitter_ns=9,
        jitter_step=ONES // 2,
        byte_time=1,
        rho=(ONES // 2,) * 4,
        lead_ns=LEAD_NS,
    )
    bench = a_bench(dut)
    await bench.begin(settings)
    dut.hold_link.value = hold
    frames = [(random.randbytes(16), False) for _ in range(700)]
    found = await bench.run(frames)
    assert bool(bench.told["no_room"]) != bool(hold)
    assert len(found) == 700 - bench.told["no_room"] - bench.told["lost"] + bench.told["duplicated"]
    bench.check_sums()


@behaviour()
async def what_memory_refuses_is_dropped_and_counted(dut: Any) -> None:
    settings = Settings(delay_ns=6000, jitter_ns=2000, lead_ns=LEAD_NS)
    slot = int(dut.FRAME_KB.value) * 1024

    def answer(bad: set[int]) -> Callable[[int], int]:
        return lambda address: DECERR if (address - 0x7_0000_0000) // slot in bad else OKAY

    bench = a_bench(dut, bad_read=answer({3, 4}), bad_write=answer({7}))
    await bench.begin(settings)
    frames = some_frames(60, 300)
    found = await bench.run(frames, pause=lambda: 30)
    sent = [data for data, _ in found]
    assert bench.told["failed"] >= 3
    assert len(sent) == 60 - bench.told["failed"]
    assert set(sent) <= {data for data, _ in frames}
    bench.check_sums()


@behaviour()
async def settings_change_between_frames(dut: Any) -> None:
    settings = Settings(delay_ns=9000, lead_ns=LEAD_NS)
    bench = a_bench(dut)
    await bench.begin(settings)
    frames = some_frames(10, 100)
    sink = Sink(Channel.axis(dut, "m"), never())
    cocotb.start_soon(sink.run())
    for number, (data, _) in enumerate(frames):
        if number == 5:
            dut.hold.value = 1
            while not dut.held.value:
                await RisingEdge(dut.clk)
            dut.settings.value = replace(settings, delay_ns=0).packed()
            for _ in range(20):
                await RisingEdge(dut.clk)
            assert dut.held.value
            dut.hold.value = 0
        await Source(Channel.axis(dut, "s"), frame_words(data, len(dut.s_axis_tdata), lambda: 0), never()).run()
        for _ in range(60):
            await RisingEdge(dut.clk)
    while int(dut.queued.value):
        await RisingEdge(dut.clk)
    for _ in range(10):
        await RisingEdge(dut.clk)
    order = [data for data, _ in frames]
    found = frames_with_times(sink.taken)
    assert [data for data, _ in found] == order[5:] + order[:5]
    for arrived, (_, at) in zip(bench.arrivals, found[5:], strict=False):
        assert arrived + settings.delay_ns <= at <= arrived + settings.delay_ns + LATE_NS
