"""What a flow table promises: each packet meets the table as it was before an operation or is after it, and counts."""

import random
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from switch_table.driver import NAMES, Answer, Driver, Packet, begin
from switch_table.model import ALL_BITS, Effect, fields

from headrace.cards.switch.layout import ENTRY, EXPIRY, LOOKUP, MATCH, NO_TABLE, TICK_NS, EffectOp, FlowOp
from headrace.testing.streams import PATTERNS, Stalls, behaviour, cycles, until, watch_no_path

EXACT_MASK = MATCH.pack(**{name: MATCH.ones(name) for name in ("in_port", "src", "l4_dst")})
SWEEP_NS = 1 << 26

WRITES = (FlowOp.SET_ENTRY, FlowOp.CHANGE_ENTRY)
INSERTS = (FlowOp.EXACT_INSERT, FlowOp.EXACT_ADD)
LEADS = (FlowOp.EXACT_INSERT, FlowOp.EXACT_CHANGE, FlowOp.TERNARY_SET, FlowOp.TERNARY_MOVE)
ADDS = (FlowOp.EXACT_ADD, FlowOp.TERNARY_ADD)


def some_mask() -> int:
    """Of a ternary entry: some fields, and now and then some bits of them."""
    mask = MATCH.pack(**{name: MATCH.ones(name) for name in NAMES if random.random() < 0.3})
    return mask & (random.getrandbits(MATCH.width) if random.random() < 0.2 else ALL_BITS)


def some_effect(driver: Driver) -> Effect:
    op = random.choice((EffectOp.SET, *EffectOp))
    return Effect(op, random.randrange(40), random.getrandbits(128), random.random() < 0.5)


def any_packet(driver: Driver) -> Packet:
    """With fields of any value, for this table."""
    some = MATCH.unpack(random.getrandbits(MATCH.width))
    some["eth_type"] = random.choice((0x8847, 0x8848, 0x0800, 0x86DD))
    lookup = LOOKUP.pack(
        fields=MATCH.pack(**some), tags=random.randrange(4), inner=random.getrandbits(16), next=driver.number
    )
    return lookup, (0,) * driver.tables


class Software:
    """Keeps flows as a driver does: new entries and effects come before what leads to them, old ones go after it."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.ranks = driver, 4
        self.free = list(range(driver.numbers))
        random.shuffle(self.free)
        self.lists: dict[int, list[int]] = {}  # addresses of effects by number
        self.addresses = list(range(1, driver.effects))

    async def new_entry(self, kind: FlowOp) -> dict[str, int]:
        """Number of an entry, and what it is: for an operation that writes it, or leads to it, as it's then written."""
        driver, number = self.driver, self.free.pop(0)
        count = random.choice((0, 0, 1, 2, 3))
        begin = random.randrange(1, driver.effects - count)
        wanted = list(range(begin, begin + count))
        if not set(wanted) <= set(self.addresses):
            wanted = []
        for at in wanted:
            effect = some_effect(driver)
            effect = Effect(effect.op, effect.field, effect.value, at == wanted[-1])
            assert await driver.operate(FlowOp.SET_EFFECT, index=at, effect=effect) == Answer.DONE
        self.addresses = [at for at in self.addresses if at not in wanted]
        self.lists[number] = wanted
        entry = driver.entry(effect=wanted[0] if wanted else 0)
        if kind not in ADDS:
            assert await driver.operate(FlowOp.SET_ENTRY, number=number, entry=entry) == Answer.DONE
        return {"number": number, "entry": entry}

    def release(self, number: int) -> None:
        """Nothing leads to this entry any more: it is used again as soon as can be."""
        self.free.insert(0, number)
        self.addresses += self.lists.pop(number)

    async def change_entry(self) -> None:
        number = random.choice(list(self.lists))
        old = ENTRY.unpack(self.driver.table.entries[number])
        kind = random.choice(WRITES)
        await self.driver.operate(kind, number=number, entry=self.driver.entry(effect=old["effect"]))

    async def exact(self) -> None:
        driver, key = self.driver, fields(NAMES)
        there = driver.table.exact.get(driver.table.key(key))
        kind = random.choice((*INSERTS, FlowOp.EXACT_CHANGE, FlowOp.EXACT_REMOVE))
        if there is None and random.random() < 0.8:
            kind = random.choice(INSERTS)
        if not self.free:
            kind = FlowOp.EXACT_REMOVE
        new = await self.new_entry(kind) if kind != FlowOp.EXACT_REMOVE else {"number": 0}
        answer = await driver.operate(kind, value=key, rank=random.randrange(self.ranks), **new)
        if kind in INSERTS and there is None:
            assert answer in (Answer.DONE, Answer.FULL)
            assert answer == Answer.DONE or 2 * len(driver.table.exact) > driver.exact
        elif there is None:
            assert answer == Answer.NOT_FOUND
        else:
            assert answer == (Answer.EXISTS if kind in INSERTS else Answer.DONE)
        if kind != FlowOp.EXACT_REMOVE and answer != Answer.DONE:
            self.release(new["number"])
        elif kind not in INSERTS and answer == Answer.DONE:
            assert there
            self.release(there[1])

    async def ternary_part(self) -> None:
        driver = self.driver
        used = driver.table.ternary
        kind = random.choice((FlowOp.TERNARY_SET, FlowOp.TERNARY_ADD, FlowOp.TERNARY_MOVE, FlowOp.TERNARY_CLEAR))
        index, clear = random.randrange(driver.ternary), random.choice([*used, random.randrange(driver.ternary)])
        if not self.free:
            kind = FlowOp.TERNARY_CLEAR
        new = await self.new_entry(kind) if kind != FlowOp.TERNARY_CLEAR else {"number": 0}
        clears = kind in (FlowOp.TERNARY_MOVE, FlowOp.TERNARY_CLEAR)
        gone = {flow.number for at, flow in used.items() if at == clear and clears}
        gone |= {flow.number for at, flow in used.items() if at == index and kind != FlowOp.TERNARY_CLEAR}
        answer = await driver.operate(
            kind,
            index=index,
            clear_index=clear,
            value=fields(NAMES),
            mask=some_mask(),
            rank=random.randrange(self.ranks),
            **new,
        )
        assert answer == Answer.DONE
        for old in gone:
            self.release(old)


async def filled(dut: Any) -> Software:
    """A table that has its mask, and some flows."""
    software = Software(await begin(dut))
    assert await software.driver.operate(FlowOp.SET_MASK, mask=EXACT_MASK) == Answer.DONE
    return software


async def check_counts(driver: Driver) -> None:
    """Each entry's counters, when no packet is inside."""
    for number, count in driver.counts.items():
        read = await driver.read(number)
        assert (read["packets"], read["bytes"]) == (count.packets, count.bytes), f"of entry {number}"
    assert driver.matched == driver.hits
    assert driver.looked_up == driver.hits + driver.misses


@behaviour()
@cocotb.parametrize(stalls=list(zip(PATTERNS, PATTERNS[2:] + PATTERNS[:2], strict=True)))
async def each_packet_meets_the_table_before_or_after_an_operation(
    dut: Any, stalls: tuple[Callable[[], Stalls], Callable[[], Stalls]]
) -> None:
    software = await filled(dut)
    driver = software.driver
    driver.stalls = (stalls[0](), stalls[1]())
    driver.left = float("inf")
    for _ in range(60):
        what = random.choices((software.exact, software.ternary_part, software.change_entry), (6, 2, 1))[0]
        if software.lists or what != software.change_entry:
            await what()
        await cycles(dut.clk, random.choice((0, 0, 0, 3, 30)))
    driver.left = 0
    await driver.through()
    assert driver.judged > 500
    assert min(driver.hits, driver.misses, driver.undecided) > 20
    await check_counts(driver)
    await until(dut.clk, lambda: bool(dut.idle.value), 3000)


@behaviour()
async def a_packet_a_cycle_after_a_constant_time(dut: Any) -> None:
    """While all hit, and the host reads counters; a read costs a cycle at most."""
    driver = (await filled(dut)).driver
    await driver.operate(FlowOp.SET_ENTRY, number=0, entry=driver.entry())
    await driver.operate(FlowOp.TERNARY_SET, number=0, index=driver.ternary - 1, mask=0)
    for number in range(1, 4):
        await driver.operate(FlowOp.SET_ENTRY, number=number, entry=driver.entry())
        await driver.operate(FlowOp.EXACT_INSERT, number=number, value=fields(NAMES))
    driver.draw = lambda: (LOOKUP.pack(fields=fields(NAMES), bytes=64, next=driver.number), (0,) * driver.tables)
    reads = 0
    driver.left = 400
    await until(dut.clk, lambda: driver.judged > 20, 100)
    begun, first = driver.now, driver.judged
    while driver.left > 100:
        await driver.read(0)
        reads += 1
    taken, judged = driver.now - begun, driver.judged - first
    assert reads > 2
    assert judged >= taken - reads
    await driver.through()
    assert set(driver.latencies) == {0}
    assert driver.hits == 400
    await check_counts(driver)


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    driver = (await filled(dut)).driver
    driver.stalls = (PATTERNS[1](), PATTERNS[3]())
    watch = cocotb.start_soon(watch_no_path(dut.clk, dut.m_ready, dut.s_ready))
    await driver.send(200)
    watch.cancel()


@behaviour()
async def effects_are_what_later_tables_see(dut: Any) -> None:
    """Of packets of all kinds, by lists of all lengths; the longest one ends with the memory."""
    driver = (await filled(dut)).driver
    driver.draw = lambda: any_packet(driver)
    await driver.operate(FlowOp.TERNARY_SET, number=0, index=0, mask=0)
    lengths = set()
    for turn in range(40):
        begin = random.randrange(1, driver.effects)
        length = min(random.choice((1, 1, 2, 3, driver.effects)), driver.effects - begin)
        lengths.add(length)
        for at in range(begin, begin + length):
            effect = some_effect(driver)
            if turn < 37:
                effect = Effect(EffectOp.SET, turn, effect.value)
            last = at == begin + length - 1 and (at + 1 < driver.effects or bool(turn % 2))
            effect = Effect(effect.op, effect.field, effect.value, last)
            await driver.operate(FlowOp.SET_EFFECT, index=at, effect=effect)
        await driver.operate(FlowOp.SET_ENTRY, number=0, entry=driver.entry(effect=begin))
        await driver.send(1)
        await driver.send(3)
    assert len(lengths) > 3
    assert set(driver.latencies[::4]) == {0}, "cycles of the effects"


@behaviour()
async def effects_come_in_any_order(dut: Any) -> None:
    driver = (await filled(dut)).driver
    driver.stalls = (PATTERNS[0](), PATTERNS[1]())
    driver.draw = lambda: any_packet(driver)
    await driver.operate(FlowOp.TERNARY_SET, number=0, index=0, mask=0)
    for _ in range(30):
        length = random.randint(2, 5)
        for at in range(1, 1 + length):
            effect = some_effect(driver)
            effect = Effect(effect.op, effect.field, effect.value, at == length)
            await driver.operate(FlowOp.SET_EFFECT, index=at, effect=effect)
        await driver.operate(FlowOp.SET_ENTRY, number=0, entry=driver.entry(effect=1))
        await driver.send(4)


@behaviour()
async def an_entry_counts_what_it_was_found_for_since_it_was_set(dut: Any) -> None:
    """Few entries, so that one is hit in consecutive cycles; they are set and changed meanwhile, and read."""
    driver = (await filled(dut)).driver
    for number in range(3):
        await driver.operate(FlowOp.SET_ENTRY, number=number, entry=driver.entry())
        await driver.operate(FlowOp.EXACT_INSERT, number=number, value=MATCH.pack(in_port=number))
    weights = [1, 1, 1]

    def draw() -> Packet:
        in_port = random.choices(range(3), weights)[0]
        lookup = LOOKUP.pack(fields=MATCH.pack(in_port=in_port), bytes=random.getrandbits(17), next=driver.number)
        return lookup, (0,) * driver.tables

    driver.draw = draw
    driver.left = float("inf")
    for turn in range(24):
        weights[:] = random.choice(((1, 1, 1), (1, 0, 0), (8, 1, 0)))
        number = random.randrange(3)
        kind = random.choice(WRITES)
        await driver.operate(kind, number=number, entry=driver.entry())
        await cycles(dut.clk, random.randrange(60))
        before = driver.counts[number].packets
        read = await driver.read(number)
        inside = len(driver.inside)
        assert before <= read["packets"] <= driver.counts[number].packets + inside
        if turn == 12:
            driver.stalls = (PATTERNS[3](), PATTERNS[1]())
    driver.left = 0
    await driver.through()
    assert driver.hits > 500
    await check_counts(driver)


@behaviour()
@cocotb.parametrize(stalls=[PATTERNS[0], PATTERNS[2]])
async def what_nothing_leads_to_any_more_can_be_used_again_at_once(dut: Any, stalls: Any) -> None:
    """Entries, effects and places of the ternary part, while packets that have found them are on their way."""
    driver = (await filled(dut)).driver
    driver.stalls = (PATTERNS[0](), stalls())
    keys = [MATCH.pack(in_port=n) for n in range(3)]

    def draw() -> Packet:
        next_table = random.choice((*[driver.number] * 3, NO_TABLE))  # so that operations find cycles without a hit
        lookup = LOOKUP.pack(fields=random.choice(keys[:2]), bytes=60, next=next_table)
        return lookup, (0,) * driver.tables

    driver.draw = draw
    driver.left = float("inf")
    for turn in range(20):
        effect = Effect(EffectOp.SET, 3, turn)
        await driver.operate(FlowOp.SET_EFFECT, index=1, effect=effect)
        entry = driver.entry(effect=1)
        if turn % 4 < 2:
            await driver.operate(FlowOp.SET_ENTRY, number=0, entry=entry)
            await driver.operate(FlowOp.EXACT_INSERT, number=0, value=keys[0])
        else:
            await driver.operate(FlowOp.EXACT_ADD, number=0, value=keys[0], entry=entry)
        await cycles(dut.clk, 40)
        await driver.operate(FlowOp.EXACT_REMOVE, value=keys[0])
        if turn % 2:
            await driver.operate(FlowOp.SET_ENTRY, number=0, entry=driver.entry())
        else:  # for another key, while packets on their way have found it
            await driver.operate(FlowOp.EXACT_ADD, number=0, value=keys[2], entry=driver.entry())
            await driver.operate(FlowOp.EXACT_REMOVE, value=keys[2])
    mask = MATCH.pack(in_port=MATCH.ones("in_port"))
    for number in range(4):
        await driver.operate(FlowOp.SET_ENTRY, number=number, entry=driver.entry())
    for turn in range(12):
        flow = {"value": keys[1 + turn % 2], "mask": mask, "number": turn % 4}
        await driver.operate(FlowOp.TERNARY_SET, index=0, **flow)
        if turn < 8:
            await cycles(dut.clk, 20)
        else:
            await driver.operate(FlowOp.TERNARY_CLEAR, clear_index=0)
            if turn % 2:
                await driver.operate(FlowOp.SET_ENTRY, number=turn % 4, entry=driver.entry())
            else:
                flow["value"] = keys[2]
                await driver.operate(FlowOp.TERNARY_ADD, index=0, entry=driver.entry(), **flow)
    driver.left = 0
    await driver.through()
    assert driver.hits > 40
    await check_counts(driver)


@behaviour()
async def what_is_out_of_range_changes_nothing(dut: Any) -> None:
    software = await filled(dut)
    driver = software.driver
    for _ in range(6):
        await software.exact()
        await software.ternary_part()
    over = (driver.numbers, 0xFFFF)
    beyond = [at for at in (driver.ternary, 0xFFF) if at >= driver.ternary]
    wrong: list[tuple[FlowOp, dict[str, int]]] = []
    for number in over:
        wrong += [(kind, {"number": number}) for kind in WRITES + LEADS + ADDS]
    for index in beyond:
        wrong += [(FlowOp.TERNARY_SET, {"index": index}), (FlowOp.TERNARY_CLEAR, {"clear_index": index})]
        wrong.append((FlowOp.TERNARY_ADD, {"index": index}))
        wrong += [(FlowOp.TERNARY_MOVE, {"index": index}), (FlowOp.TERNARY_MOVE, {"clear_index": index})]
    if driver.effects < 256:
        wrong += [(kind, {"entry": ENTRY.pack(effect=driver.effects)}) for kind in WRITES + ADDS]
    wrong.append((FlowOp.SET_EFFECT, {"index": driver.effects}))
    driver.left = float("inf")
    for kind, members in wrong:
        some: dict[str, Any] = {"value": fields(NAMES), "mask": some_mask(), "entry": driver.entry()}
        assert await driver.operate(kind, refused=True, **some | members) == Answer.NOT_FOUND, (kind, members)
    driver.left = 40
    await driver.through()
    await check_counts(driver)


@behaviour()
async def a_reset_leaves_no_flow(dut: Any) -> None:
    software = await filled(dut)
    for _ in range(5):
        await software.exact()
        await software.ternary_part()
    await software.driver.operate(FlowOp.SET_ENTRY, number=0, entry=ENTRY.pack(idle=1, program_at=0xFFFF))
    await software.driver.send(20)
    software.driver.task.cancel()
    dut.s_valid.value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0
    driver = Driver(dut)
    await driver.send(200)
    assert driver.hits == 0 < driver.misses
    await driver.operate(FlowOp.SET_MASK, mask=0)
    await until(dut.clk, lambda: bool(dut.idle.value), 3000)
    assert int(dut.wake_ns.value) == (1 << 64) - 1


class Timers:
    """Entries with timeouts, their uses, and which of them a sweep must tell."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.dut = driver, driver.dut
        self.ns = 0
        self.timeouts: dict[int, tuple[int, int]] = {}  # idle, hard_at
        self.used: dict[int, int] = {}
        self.told: list[tuple[int, int]] = []  # hard, number

    async def take(self, stalls: Stalls) -> None:
        """Take expiries for ever."""
        while True:
            ready = not next(stalls)
            self.dut.expired_ready.value = int(ready)
            await RisingEdge(self.dut.clk)
            if ready and self.dut.expired_valid.value:
                word = EXPIRY.unpack(int(self.dut.expired.value))
                self.told.append((word["hard"], word["number"]))

    @property
    def tick(self) -> int:
        return self.ns // TICK_NS

    async def go_to(self, ns: int) -> None:
        """Time is `ns`; what a sweep tells is taken."""
        self.ns = ns
        self.dut.time_ns.value = ns
        await cycles(self.dut.clk, 4)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 3000)
        await cycles(self.dut.clk, 2)

    async def set(self, number: int, idle: int, hard_at: int, kind: FlowOp = FlowOp.SET_ENTRY) -> None:
        await self.driver.operate(kind, number=number, entry=self.driver.entry(idle=idle, hard_at=hard_at))
        self.timeouts[number] = (idle, hard_at)
        if kind == FlowOp.SET_ENTRY:
            self.used[number] = self.tick

    async def use(self, number: int) -> None:
        lookup = LOOKUP.pack(fields=MATCH.pack(src=number), bytes=60, next=self.driver.number)
        self.driver.draw = lambda: (lookup, (0,) * self.driver.tables)
        await self.driver.send(1)
        self.used[number] = self.tick

    def due(self) -> list[tuple[int, int]]:
        """What a sweep at this time tells; these entries have no timeouts then."""
        due = []
        for number, (idle, hard_at) in sorted(self.timeouts.items()):
            hard = hard_at and self.tick >= hard_at
            if hard or (idle and self.tick - self.used[number] >= idle):
                due.append((int(bool(hard)), number))
        for _, number in due:
            del self.timeouts[number]
        return due

    def armed(self) -> bool:
        return any(idle or hard for idle, hard in self.timeouts.values())


async def timed(dut: Any, count: int, stalls: Stalls) -> Timers:
    """A table with `count` flows, each of which has an entry of its number."""
    dut.time_ns.value = 0
    driver = (await filled(dut)).driver
    timers = Timers(driver)
    cocotb.start_soon(timers.take(stalls))
    for number in range(count):
        await driver.operate(FlowOp.EXACT_INSERT, number=number, value=MATCH.pack(src=number))
    await timers.go_to(random.getrandbits(40) * TICK_NS)
    return timers


@behaviour()
@cocotb.parametrize(stalls=[PATTERNS[0], PATTERNS[2]])
async def an_entry_expires_once_when_it_is_idle_or_its_time_has_come(dut: Any, stalls: Any) -> None:
    count = 12
    timers = await timed(dut, count, stalls())
    told = 0
    for _ in range(25):
        for number in range(count):
            choice = random.random()
            if choice < 0.1 or number not in timers.used:
                idle, hard = random.choice((0, random.randint(1, 400))), random.choice((0, random.randint(1, 400)))
                kind = FlowOp.SET_ENTRY if number not in timers.used or choice < 0.07 else FlowOp.CHANGE_ENTRY
                await timers.set(number, idle, hard and timers.tick + hard, kind)
            elif choice < 0.3:
                await timers.use(number)
        boundary = (timers.ns // SWEEP_NS + 1) * SWEEP_NS
        if timers.armed():
            assert int(dut.wake_ns.value) == boundary
        await timers.go_to(random.choice((boundary - 1, random.randrange(timers.ns, boundary))))
        assert not timers.told, "before the sweep"
        await timers.go_to(boundary + random.choice((0, 0, random.randrange(3 * SWEEP_NS))))
        due = timers.due()
        told += len(due)
        assert timers.told == due
        timers.told.clear()
        number = random.randrange(count)
        assert (await timers.driver.read(number))["used"] == timers.used[number]
    assert told > 10


@behaviour()
async def a_sweep_goes_on_when_timeouts_are_set(dut: Any) -> None:
    """At each moment of it: it misses no entry, and tells none that is not due."""
    timers = await timed(dut, 5, PATTERNS[0]())
    driver = timers.driver
    for offset in range(24):
        for number in range(5):
            await timers.set(number, 0, timers.tick + (5000 if number % 2 else 1))
        entry = driver.entry(hard_at=timers.tick + 6000)
        operation = cocotb.start_soon(driver.operate(FlowOp.CHANGE_ENTRY, number=1 + offset % 2 * 2, entry=entry))
        await cycles(dut.clk, offset)
        await timers.go_to((timers.ns // SWEEP_NS + 1) * SWEEP_NS)
        await operation
        await timers.go_to(timers.ns)
        assert timers.told == [(1, 0), (1, 2), (1, 4)]
        timers.told.clear()


@behaviour()
async def there_is_no_timer_without_timeouts(dut: Any) -> None:
    timers = await timed(dut, 3, PATTERNS[0]())
    never = (1 << 64) - 1
    for number, idle, hard in ((0, 0, 0), (1, 5000, 0), (1, 0, 0), (2, 0, timers.tick + 5000), (2, 0, 0)):
        await timers.set(number, idle, hard)
        await timers.go_to((timers.ns // SWEEP_NS + 1) * SWEEP_NS)
        assert (int(dut.wake_ns.value) == never) == (not idle and not hard)
    assert not timers.told


@behaviour()
async def packets_and_reads_do_not_mind_a_sweep(dut: Any) -> None:
    """Nor does a sweep mind them. An entry that is used all the time isn't idle, nor one when time is set back."""
    timers = await timed(dut, 4, PATTERNS[0]())
    driver = timers.driver
    for number in range(4):
        await timers.set(number, 65 if number == 2 else 64, 0)
    lookup = LOOKUP.pack(fields=MATCH.pack(src=2), bytes=60, next=driver.number)
    driver.draw = lambda: (lookup, (0,) * driver.tables)
    for _ in range(3):
        timers.ns += SWEEP_NS
        dut.time_ns.value = timers.ns
        driver.left = 200
        for _ in range(3):
            assert (await driver.read(2))["packets"] > 0 or driver.judged < 3
        await driver.through()
        timers.used[2] = timers.tick
        await timers.go_to(timers.ns)
        assert timers.told == timers.due()
        timers.told.clear()
    assert set(driver.latencies) == {0}
    assert set(timers.timeouts) == {2}
    await timers.go_to(timers.ns - SWEEP_NS)
    await timers.go_to(timers.ns - 3 * SWEEP_NS)
    assert not timers.told
    await check_counts(driver)
