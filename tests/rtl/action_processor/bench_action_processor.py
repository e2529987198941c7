"""What the action processor promises: each packet has the copies that OpenFlow says, in order, the last one marked."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import cocotb
from action_processor.model import Arrival, Run, Surroundings, Values, told, word
from action_processor.programs import Programs
from action_processor.programs import arrival as any_arrival
from action_processor.scapy_packets import CHECKED, checksum, parsed, rebuilt, updated
from cocotb.triggers import RisingEdge
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from headrace.cards.switch.layout import ACTION, COPY, EDIT, LAYERS, MATCH, REASON_TTL, Act
from headrace.testing.streams import (
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    bursts,
    cycles,
    gaps,
    mostly,
    never,
    start,
    together,
    until,
    watch_no_path,
)

LATENCY = 15
ALL_PORTS = (1 << 64) - 1


def meter_answer(number: int) -> tuple[bool, int]:
    """What the bench's meters say."""
    return number % 16 == 0, number % 7


def narrow() -> bool:
    """Whether the processor is one for a narrow parser."""
    return bool(int(cocotb.top.NARROW.value))


def arrival(programs: list[int], first: int = 0) -> Arrival:
    """A packet of any kind that the processor's parser knows."""
    return any_arrival(programs, first, narrow=narrow())


class Bench:
    """Packets in, copies out; memory, groups and meters beside it."""

    def __init__(self, dut: Any, stalls: Stalls | None = None, taking: Stalls | None = None) -> None:
        self.dut = dut
        self.tables = int(dut.TABLES.value)
        names = ("fields", "layers", "bytes", "metadata", "first", "programs")
        payload = tuple(getattr(dut, f"s_{name}") for name in names)
        self.source = Source(Channel(dut.clk, dut.s_valid, dut.s_ready, payload), [], stalls or never())
        self.sink = Sink(Channel(dut.clk, dut.m_valid, dut.m_ready, (dut.m_copy,)), taking or never())
        self.around = Surroundings({}, {}, ALL_PORTS, ALL_PORTS, 0, meter_answer)
        self.hashes: list[int] = []
        self.meters: list[tuple[int, int]] = []
        self.counts: list[tuple[int, int]] = []

    async def begin(self, memory: dict[int, Values] | None = None, groups: dict[int, int] | None = None) -> None:
        """Reset it and write programs and groups, a word a cycle and in any order."""
        dut, around = self.dut, self.around
        for name in ("write_valid", "group_write", "meter_ready", "meter_answer"):
            getattr(dut, name).value = 0
        for name in ("enabled", "live", "quiet"):
            getattr(dut, name).value = getattr(around, name)
        await start(dut)
        assert not dut.count_valid.value
        around.memory, around.groups = memory or {}, groups or {}
        dut.write_valid.value = 1
        for address, members in random.sample(list(around.memory.items()), len(around.memory)):
            dut.write_address.value, dut.write_word.value = address, ACTION.pack(**members)
            await cycles(dut.clk, 1)
        dut.write_valid.value = 0
        for number, program in around.groups.items():
            dut.group_write.value, dut.group_number.value, dut.group_program.value = 1, number, program
            await cycles(dut.clk, 1)
        dut.group_write.value = 0
        await cycles(dut.clk, 4)
        self.tasks = [cocotb.start_soon(task) for task in (self.sink.run(), self.watch(), self.serve_meters())]

    async def watch(self) -> None:
        """Note counts, and the hash of each packet, which is only told inside."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.count_valid.value:
                self.counts.append((int(dut.count_number.value), int(dut.count_bytes.value)))
            if dut.summed.value:
                self.hashes.append(int(dut.hash.value))

    async def serve_meters(self) -> None:
        """Answer, sooner or later."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            dut.meter_ready.value = int(random.random() < 0.7)
            await edge
            if dut.meter_valid.value and dut.meter_ready.value:
                self.meters.append((int(dut.meter_number.value), int(dut.meter_bytes.value)))
                dut.meter_ready.value = 0
                await cycles(dut.clk, random.choice((0, 1, 2, 6)))
                dut.meter_answer.value = 1
                dut.meter_drop.value, dut.meter_raise.value = meter_answer(self.meters[-1][0])
                await edge
                dut.meter_answer.value = 0

    async def send(self, packets: list[Arrival]) -> None:
        """Send them and wait until all is done."""
        lasts = sum(told(raw)["last"] for (raw,) in self.sink.taken) + len(packets)
        self.source.words = [
            (
                *(MATCH.pack(**packet.fields), LAYERS.pack(**packet.layers), packet.bytes, packet.metadata),
                *(packet.first, sum(program << 16 * i for i, program in enumerate(packet.programs))),
            )
            for packet in packets
        ]
        await self.source.run()
        await cycles(self.dut.clk, 1)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 20000)
        await cycles(self.dut.clk, 2)
        assert not self.dut.m_valid.value
        assert sum(told(raw)["last"] for (raw,) in self.sink.taken) == lasts

    def copies(self) -> list[list[dict[str, Any]]]:
        """Of each packet; the last one only if it goes anywhere."""
        packets: list[list[dict[str, Any]]] = [[]]
        for (raw,) in self.sink.taken:
            copy = told(raw)
            goes = copy["ports"] or copy["host"] or copy["resubmit"]
            assert goes or copy["last"], "a copy to nowhere that is not the last one"
            if goes:
                packets[-1].append(copy)
            if copy["last"]:
                packets.append([])
        return packets[:-1]

    def check(self, packets: list[Arrival]) -> list[Run]:
        """Compare all with the model."""
        found = self.copies()
        assert len(found) == len(packets) == len(self.hashes)
        runs = [Run(packet, self.around, hashed) for packet, hashed in zip(packets, self.hashes, strict=True)]
        for run, copies in zip(runs, found, strict=True):
            assert len(copies) == len(run.copies), f"{run.packet}: {copies} instead of {run.copies}"
            for copy, due in zip(copies, run.copies, strict=True):
                wrong = {name: (copy[name], value) for name, value in due.items() if copy[name] != value}
                assert not wrong, f"{run.packet}: found, expected: {wrong}"
        assert self.meters == [asked for run in runs for asked in run.meters]
        assert self.counts == [counted for run in runs for counted in run.counts]
        return runs


def program_of(*words: Values, at: int = 16) -> dict[int, Values]:
    """The memory of one program."""
    words[-1]["last"] = 1
    return dict(enumerate(words, at))


def output(port: int = 1) -> Values:
    """To one port."""
    return word(Act.NONE, out=1, port=port - 1)


@behaviour()
@cocotb.parametrize((("stalls", "taking"), together(PATTERNS, [never, mostly, bursts])))
async def random_programs_do_to_random_packets_what_openflow_says(
    dut: Any, stalls: Callable[[], Stalls], taking: Callable[[], Stalls]
) -> None:
    bench = Bench(dut, stalls(), taking())
    programs = Programs(int(dut.PROGRAM_WORDS.value), int(dut.GROUPS.value))
    bench.around.enabled = random.getrandbits(64) | 7
    bench.around.live, bench.around.quiet = random.getrandbits(64), random.getrandbits(64) & ~2
    await bench.begin(programs.memory, programs.group_starts)

    def program() -> int:
        return random.choice(programs.starts) if random.random() < 1.5 / bench.tables else 0

    packets = [arrival([program() for _ in range(bench.tables)], program()) for _ in range(150)]
    await bench.send(packets)
    runs = bench.check(packets)
    assert sum(len(run.copies) for run in runs) > 100
    assert any(run.meters for run in runs)
    assert any(copy["host"] for run in runs for copy in run.copies)


def known(**fields: int) -> Arrival:
    """An IPv4 packet of UDP that came by port 1."""
    packet = dict.fromkeys(MATCH.members, 0)
    packet |= {"in_port": 1, "eth_type": 0x800, "l3": 1, "l4": 1, "ip_proto": 17, "src": 1, "dst": 2}
    layers = dict.fromkeys(LAYERS.members, 0) | {"l3": 14, "l4": 34, "ttl": 64}
    layers |= {name: fields.pop(name) for name in list(fields) if name in layers}
    return Arrival(packet | fields, layers, 64, 7, 16, [])


PORTS = {"ports": 2, "host": 0, "resubmit": 0}
KNOWN: list[tuple[str, list[Values], Values, list[dict[str, Any]]]] = [
    ("nothing", [word(Act.NONE)], {}, []),
    ("a port", [word(Act.OUTPUT, 0b10)], {}, [PORTS | {"metadata": 7, "custom": 0}]),
    ("all but in_port", [word(Act.OUTPUT, ALL_PORTS)], {}, [{"ports": ALL_PORTS - 1}]),
    ("all and in_port", [word(Act.OUTPUT, 1 << 64 | 6)], {}, [{"ports": 7}]),
    ("in_port", [word(Act.OUTPUT, 1 << 64)], {"in_port": 64}, [{"ports": 1 << 63}]),
    ("in_port by out", [output(1), output(2)], {}, [PORTS]),
    ("none of its bits", [word(Act.OUTPUT, 1 << 64 | 2)], {"in_port": 255}, [PORTS]),
    (
        "the controller",
        [word(Act.CONTROLLER, 1 << 16 | 128, out=1, port=1)],
        {},
        [{"ports": 0, "host": 1, "max_bytes": 128, "reason": 1, "origin": 16}, PORTS],
    ),
    (
        "edits between copies",
        [word(Act.SET_FIELD, 9, field=12, out=1, port=1), word(Act.SET_FIELD, 5, field=15, out=1, port=2)],
        {},
        [{"ports": 2, "dst": 9, "l4_src": 0, "l3_delta": 7}, {"ports": 4, "dst": 9, "l4_src": 5, "l4_delta": 12}],
    ),
    (
        "a tag",
        [word(Act.PUSH_VLAN, 0x88A8), word(Act.SET_FIELD, 0x1005, field=6, out=1, port=1)],
        {},
        [{"tags": 1, "tag": 0x10005, "cut": 14, "eth_type": 0x800}],
    ),
    (
        "a tag less",
        [word(Act.POP_VLAN, out=1, port=1)],
        {"tags": 2, "vlan": 1, "vlan_vid": 4, "inner": 0x2003, "l3": 22},
        [{"tags": 1, "tag": 0x2003, "cut": 22}],
    ),
    (
        "a label",
        [word(Act.PUSH_MPLS, 0x8847), word(Act.SET_FIELD, 0x12345, field=34, out=1, port=1)],
        {},
        [{"labels": 1, "label": 0x12345140, "eth_type": 0x8847, "cut": 14}],
    ),
    (
        "a label less",
        [word(Act.POP_MPLS, 0x8847), word(Act.POP_MPLS, 0x800, out=1, port=1)],
        {"eth_type": 0x8847, "l4": 0, "ip_proto": 0, "src": 0, "dst": 0, "label": 3},
        [{"labels": 0, "eth_type": 0x800, "cut": 22}],
    ),
    ("a TTL", [word(Act.DEC_NW_TTL, out=1, port=1)], {}, [PORTS | {"ttl": 63, "l3_delta": 0xFEFF}]),
    (
        "a TTL from below the label that came",
        [word(Act.COPY_TTL_OUT, out=1, port=1)],
        {"eth_type": 0x8847, "l4": 0, "ip_proto": 0, "src": 0, "dst": 0, "label": 3, "below": 2, "label_ttl": 9},
        [PORTS | {"label": 3 << 12 | 64, "ttl": 64, "l3_delta": 0}],
    ),
    (
        "a TTL to below the label that came, which is cut off",
        [word(Act.COPY_TTL_IN, out=1, port=1), *(word(Act.POP_MPLS, 0x8847, out=1, port=port) for port in (1, 2))],
        {"eth_type": 0x8847, "l4": 0, "ip_proto": 0, "src": 0, "dst": 0, "below": 2, "label_ttl": 9},
        [{"ttl": 9, "l3_delta": 0xC8FF}, {"ttl": 9, "l3_delta": 0xC8FF, "labels": 0}, {"l3_delta": 0, "cut": 22}],
    ),
    (
        "a TTL that runs out",
        [word(Act.DEC_NW_TTL, out=1, port=1), output(2)],
        {"ttl": 1},
        [{"host": 1, "ports": 0, "reason": REASON_TTL, "max_bytes": 0xFFFF, "ttl": 1, "l3_delta": 0}],
    ),
    (
        "kept and restored",
        [word(Act.SAVE), word(Act.SET_NW_TTL, 9, out=1, port=1), word(Act.RESTORE), output(3)],
        {},
        [{"ttl": 9}, {"ttl": 64, "ports": 4}],
    ),
    (
        "the action set in its order",
        [
            *(
                word(Act.OUTPUT, 2, keep=1),
                word(Act.PUSH_VLAN, 0x8100, keep=1),
                word(Act.SET_FIELD, 5, field=6, keep=1),
            ),
            *(word(Act.OUTPUT, 4, keep=1), output(4)),
        ],
        {},
        [{"ports": 8, "tags": 0}, {"ports": 4, "tags": 1, "tag": 5}],
    ),
    (
        "a group instead of the action set's output",
        [word(Act.OUTPUT, 2, keep=1), word(Act.POP_VLAN, keep=1), word(Act.GROUP, 1, keep=1)],
        {"tags": 1, "vlan": 1},
        [{"ports": 16, "tags": 0}],
    ),
    ("no such group", [word(Act.OUTPUT, 2, keep=1), word(Act.GROUP, 2, keep=1)], {}, []),
    (
        "carries in the old sum of l3",
        [word(Act.SET_NW_TTL, 63, out=1, port=1)],
        {"src": 0xFFFFFFFF, "dst": 0xBFF0},
        [{"l3_delta": 0xFEFF, "l4_delta": 0}],
    ),
    (
        "carries in the old sum of l4",
        [word(Act.SET_FIELD, 2, field=12, out=1, port=1)],
        {"src": 0xFFFFFFFF, "dst": 1},
        [{"l3_delta": 1, "l4_delta": 1}],
    ),
    ("an action set that is cleared", [word(Act.OUTPUT, 2, keep=1), word(Act.CLEAR)], {}, []),
    (
        "to tables",
        [word(Act.RESUBMIT, 0x1234_0003)],
        {},
        [{"resubmit": 1, "ports": 0, "host": 0, "next": 3, "program_at": 0x1234}],
    ),
    ("customised", [word(Act.CUSTOM, 0x81, out=1, port=1)], {}, [PORTS | {"custom": 0x81}]),
]


@behaviour()
@cocotb.parametrize(case=[name for name, *_ in KNOWN])
async def known_programs_have_known_copies(dut: Any, case: str) -> None:
    words, fields, due = next(rest for name, *rest in KNOWN if name == case)
    if narrow() and fields.get("eth_type") == 0x8847:
        return  # which its parser does not look into
    bench = Bench(dut)
    await bench.begin(program_of(*(dict(each) for each in words)) | program_of(output(5), at=40), {1: 40})
    packet = known(**fields)
    packet.programs = [0] * bench.tables
    await bench.send([packet])
    copies = [copy["edit"]["fields"] | copy["edit"] | copy for copy in bench.copies()[0]]
    raw = [EDIT.unpack(COPY.get(raw, "edit")) for (raw,) in bench.sink.taken]
    for copy, edit in zip(copies, raw, strict=False):
        copy |= {name: edit[name] for name in ("l3_delta", "l4_delta")}
    assert [{name: copy[name] for name in each} for copy, each in zip(copies, due, strict=True)] == due


@behaviour()
@cocotb.parametrize(kind=sorted(CHECKED))
async def checksums_become_what_scapy_says(dut: Any, kind: str) -> None:
    packet, edits = CHECKED[kind]
    if narrow() and IPv6 in packet:
        return  # which its parser does not look into
    bench = Bench(dut)
    before = Ether(bytes(Ether() / packet))
    numbers = random.sample(sorted(edits), len(edits))
    values = {number: edits[number].draw() for number in numbers}
    words = [word(edits[number].op, value, field=number % 64, out=1, port=1) for number, value in values.items()]
    await bench.begin(program_of(*words))
    arrived = Arrival(*parsed(bytes(before)), len(before), 0, 16, [0] * bench.tables)
    await bench.send([arrived])
    (copies,) = bench.copies()
    assert len(copies) == len(words)
    after = before.copy()
    for number, (raw,) in zip(numbers, bench.sink.taken, strict=True):
        edits[number].apply(after, values[number])
        edit = EDIT.unpack(COPY.get(raw, "edit"))
        due = rebuilt(after)
        for name, delta in (("l3", edit["l3_delta"]), ("l4", edit["l4_delta"])):
            assert updated(checksum(before, name), delta) == checksum(due, name) % 0xFFFF, f"{name} after {number}"


@behaviour()
async def a_packet_a_cycle_passes_with_a_word_each_or_none(dut: Any) -> None:
    bench = Bench(dut)
    await bench.begin(program_of(output()) | program_of(word(Act.SET_FIELD, 5, field=3, out=1, port=2), at=23))
    places = [random.choice((0, 16, 23)) for _ in range(200)]
    packets = [arrival([0] * bench.tables) for _ in places]
    for packet, place in zip(packets, places, strict=True):
        packet.programs[random.randrange(bench.tables)] = place
    await bench.send(packets)
    bench.check(packets)
    assert len(bench.sink.taken) == len(packets)
    assert gaps(bench.source.times_ps) == gaps(bench.sink.times_ps) == 0
    waits = {told - taken for told, taken in zip(bench.sink.times_ps, bench.source.times_ps, strict=True)}
    assert waits == {LATENCY * PERIOD_PS}


NONE = word(Act.NONE)
# What each packet takes with such a program: the words of it that are done, and the cycles that are lost.
TAKEN: dict[str, tuple[dict[int, Values], int, int]] = {
    **{f"{n} words": (program_of(*[dict(NONE) for _ in range(n)], at=16), n, 0) for n in (2, 3, 8, 9)},
    "9 words from the end of a row": (
        program_of(*[dict(NONE) for _ in range(9)], at=23) | program_of(word(Act.JUMP, 23)),
        10,
        3,
    ),
    "10 words": (program_of(*[dict(NONE) for _ in range(10)]), 10, 3),
    "a copy and another": (program_of(word(Act.OUTPUT, 2, out=1, port=2)), 1, 1),
    "a jump": ({16: word(Act.JUMP, 40)} | program_of(output(), at=40), 2, 3),
    "a choice": ({16: word(Act.SELECT, 1)} | program_of(output(), at=17), 2, 5),
    "a port that is live": ({16: word(Act.UNLESS_LIVE, 1 << 16 | 9)} | program_of(output(), at=17), 2, 5),
    "a group": ({16: word(Act.GROUP, 1), 17: NONE | {"last": 1}} | program_of(output(), at=40), 3, 5 + 3),
    "a group at the end": (program_of(word(Act.GROUP, 1)) | program_of(output(), at=40), 2, 5),
    "no group": (program_of(word(Act.GROUP, 2)), 1, 3),
    "the action set": (program_of(word(Act.OUTPUT, 2, keep=1)), 2, 4),
}


@behaviour()
@cocotb.parametrize(case=list(TAKEN))
async def a_word_takes_a_cycle_and_what_branches_takes_what_the_head_says(dut: Any, case: str) -> None:
    memory, words, lost = TAKEN[case]
    bench = Bench(dut)
    await bench.begin(memory, {1: 40})
    packets = [arrival([0] * bench.tables, 16) for _ in range(40)]
    await bench.send(packets)
    bench.check(packets)
    ends = [time for (raw,), time in zip(bench.sink.taken, bench.sink.times_ps, strict=True) if COPY.get(raw, "last")]
    waits = {(after - before) // PERIOD_PS for before, after in pairwise(ends[10:])}
    assert waits == {words + lost}


@behaviour()
@cocotb.parametrize(words=[[word(Act.JUMP, 16)], [word(Act.COUNT), word(Act.GROUP, 1)], [word(Act.COUNT)] * 30])
async def a_program_without_an_end_is_ended(dut: Any, words: list[Values]) -> None:
    """The packet's other programs and its action set, too; packets behind it are as they should be."""
    endless = dict(enumerate(words, 16))
    endless[16 + len(words)] = word(Act.JUMP, 16)
    bench = Bench(dut)
    await bench.begin(endless | program_of(output(2), at=8) | program_of(word(Act.OUTPUT, 4, keep=1), at=4), {1: 16})
    kept, plain = ([place, *[0] * (bench.tables - 1)] for place in (4, 8))
    packets = [arrival(plain), arrival(kept, 16), arrival(plain), arrival(plain, 16), arrival(kept)]
    await bench.send(packets)
    runs = bench.check(packets)
    assert [run.words for run in runs] == [1, 1023, 1, 1023, 2]


@behaviour()
async def flows_are_spread_evenly_and_each_goes_one_way(dut: Any) -> None:
    bench = Bench(dut)
    ways = 5
    ports = {17 + i: output(2 + i) | {"last": 1} for i in range(ways)}
    await bench.begin({16: word(Act.SELECT, ways)} | ports)
    tables = [0] * bench.tables
    flows = [known(src=0x0A000001 + i % 25, l4_src=1000 + i // 25) for i in range(500)]
    for flow in flows:
        flow.programs = tables
    await bench.send(flows + flows)
    taken = [copies[0]["ports"] for copies in bench.copies()]
    assert taken[:500] == taken[500:]
    assert all(70 <= taken[:500].count(1 << 1 + i) <= 130 for i in range(ways))


@behaviour()
async def a_program_that_is_written_is_what_later_packets_run(dut: Any) -> None:
    """Each time another number of words, at places that others have had."""
    bench = Bench(dut)
    await bench.begin()
    for _ in range(30):
        at = random.randrange(16, 32)
        words = program_of(*[word(Act.COUNT, random.getrandbits(16)) for _ in range(random.randrange(1, 20))], at=at)
        for address, members in words.items():
            members["last"] = int(address == max(words))
            dut.write_valid.value = 1
            dut.write_address.value, dut.write_word.value = address, ACTION.pack(**members)
            await cycles(dut.clk, 1)
        dut.write_valid.value = 0
        await cycles(dut.clk, 3)
        bench.counts.clear()
        await bench.send([arrival([0] * bench.tables, at)])
        assert [number for number, _ in bench.counts] == [members["value"] for members in words.values()]


@behaviour()
async def a_reset_leaves_nothing_of_the_packets_before_it(dut: Any) -> None:
    bench = Bench(dut, never(), mostly())
    programs = Programs(int(dut.PROGRAM_WORDS.value), int(dut.GROUPS.value))
    await bench.begin(programs.memory, programs.group_starts)
    starts = [random.choice(programs.starts) for _ in range(40)]
    sending = cocotb.start_soon(bench.send([arrival([0] * bench.tables, place) for place in starts]))
    await cycles(dut.clk, 60)
    for task in (sending, *bench.tasks):
        task.cancel()
    again = Bench(dut)
    dut.rst.value = 1
    await cycles(dut.clk, 2)
    assert not dut.m_valid.value
    await again.begin(program_of(output(2)))
    assert dut.idle.value
    packets = [arrival([0] * again.tables, 16) for _ in range(20)]
    await again.send(packets)
    again.check(packets)


@behaviour()
async def ready_does_not_pass_through(dut: Any) -> None:
    bench = Bench(dut)
    await bench.begin(program_of(output(2)))
    cocotb.start_soon(watch_no_path(dut.clk, dut.m_ready, dut.s_ready))
    packets = [arrival([0] * bench.tables, 16) for _ in range(100)]
    await bench.send(packets)
    assert len(bench.copies()) == len(packets)
