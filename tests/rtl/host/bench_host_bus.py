"""What host_bus promises: each manager's bursts reach memory whole, in turn with the others', and answers and data come
back to who asked, with its own ID, in any order that memory chooses between IDs."""

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from capture.host import start
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, Stalls, behaviour, bursts, cycles, never

REQUEST = (
    *(("rready", 1), ("arvalid", 1), ("aruser", 16), ("arburst", 2), ("arsize", 3), ("arlen", 8), ("araddr", 64)),
    *(("arid", 8), ("bready", 1), ("wvalid", 1), ("wlast", 1), ("awvalid", 1), ("awuser", 16), ("awburst", 2)),
    *(("awsize", 3), ("awlen", 8), ("awaddr", 64), ("awid", 8)),
)
RESPONSE = (
    *(("rvalid", 1), ("rlast", 1), ("rresp", 2), ("rid", 8), ("arready", 1), ("bvalid", 1), ("bresp", 2), ("bid", 8)),
    *(("wready", 1), ("awready", 1)),
)
NONE = 15


def pack(fields: tuple[tuple[str, int], ...], values: dict[str, int]) -> int:
    """A struct's bits, its last field lowest as `fields` begins; what is not named is noise, but no valid or ready."""
    result = at = 0
    for name, width in fields:
        noise = 0 if name.endswith(("valid", "ready")) else random.getrandbits(width)
        result |= values.get(name, noise) << at
        at += width
    return result


def unpack(fields: tuple[tuple[str, int], ...], bits: int) -> dict[str, int]:
    values = {}
    for name, width in fields:
        values[name] = bits & ((1 << width) - 1)
        bits >>= width
    return values


REQUEST_W, RESPONSE_W = (sum(width for _, width in fields) for fields in (REQUEST, RESPONSE))


@dataclass
class Burst:
    """A burst with all that its manager says of it, and its data: those to write with strobes, or those to be read."""

    manager: int
    id: int
    address: dict[str, int]
    beats: list[tuple[int, int]]
    response: int


@dataclass
class Manager:
    """Asks for bursts with any of its IDs, and checks what it is answered."""

    number: int
    read_ids: int
    write_ids: int
    size: int
    stalls: dict[str, Stalls]
    reads: deque[Burst] = field(default_factory=deque)
    writes: deque[Burst] = field(default_factory=deque)
    data: deque[tuple[int, int, int]] = field(default_factory=deque)
    offered: dict[str, bool] = field(default_factory=lambda: {"ar": False, "aw": False, "w": False})
    waiting_reads: dict[int, deque[Burst]] = field(default_factory=dict)
    waiting_writes: dict[int, deque[Burst]] = field(default_factory=dict)

    def plan(self, count: int, longest: int) -> None:
        for kind, ids, planned in (("ar", self.read_ids, self.reads), ("aw", self.write_ids, self.writes)):
            for _ in range(count if ids else 0):
                length = random.randint(1, longest)
                address = {
                    f"{kind}{name}": random.getrandbits(width)
                    for name, width in (("addr", 64), ("size", 3), ("burst", 2), ("user", 16))
                }
                number = random.randrange(ids)
                address |= {f"{kind}len": length - 1, f"{kind}id": number}
                beats = [(random.getrandbits(8 * self.size), random.getrandbits(self.size)) for _ in range(length)]
                planned.append(Burst(self.number, number, address, beats, random.getrandbits(2)))
        for burst in self.writes:
            last = len(burst.beats) - 1
            self.data.extend((*beat, int(number == last)) for number, beat in enumerate(burst.beats))

    def request(self) -> tuple[dict[str, int], int, int]:
        """Its half of the bus in the next cycle: what was offered and not taken stays."""
        values = {"rready": int(not next(self.stalls["r"])), "bready": int(not next(self.stalls["b"]))}
        for kind, words in (("ar", self.reads), ("aw", self.writes), ("w", self.data)):
            self.offered[kind] = bool(words) and (self.offered[kind] or not next(self.stalls[kind]))
            values[f"{kind}valid"] = int(self.offered[kind])
        values |= self.reads[0].address if self.offered["ar"] else {}
        values |= self.writes[0].address if self.offered["aw"] else {}
        data, strobes = random.getrandbits(8 * self.size), random.getrandbits(self.size)
        if self.offered["w"]:
            data, strobes, values["wlast"] = self.data[0]
        self.ready = values
        return values, data, strobes

    def take(self, response: dict[str, int], data: int) -> tuple[Burst | None, Burst | None]:
        """What of it was taken at this edge, and what came. The addresses that were taken."""
        taken: list[Burst | None] = [None, None]
        if self.offered["ar"] and response["arready"]:
            taken[0] = burst = self.reads.popleft()
            self.waiting_reads.setdefault(burst.id, deque()).append(burst)
            self.offered["ar"] = False
        if self.offered["aw"] and response["awready"]:
            taken[1] = burst = self.writes.popleft()
            self.waiting_writes.setdefault(burst.id, deque()).append(burst)
            self.offered["aw"] = False
        if self.offered["w"] and response["wready"]:
            self.data.popleft()
            self.offered["w"] = False
        if response["rvalid"] and self.ready["rready"]:
            burst = self.waiting_reads[response["rid"]][0]
            beat, answer = burst.beats.pop(0)
            assert (data, response["rresp"]) == (beat, answer & 3)
            assert response["rlast"] == (not burst.beats)
            if not burst.beats:
                self.waiting_reads[response["rid"]].popleft()
        if response["bvalid"] and self.ready["bready"]:
            assert response["bresp"] == self.waiting_writes[response["bid"]].popleft().response
        return taken[0], taken[1]

    @property
    def done(self) -> bool:
        waiting = (*self.waiting_reads.values(), *self.waiting_writes.values())
        return not (self.reads or self.writes or self.data or any(waiting))


class Memory:
    """Takes addresses and data, answers in any order between IDs, with the beats of different IDs among each other."""

    def __init__(self, stalls: Callable[[], Stalls]) -> None:
        self.stalls = {name: stalls() for name in ("ar", "aw", "w", "r", "b")}
        self.reads: dict[int, deque[tuple[int, int, int]]] = {}
        self.writes: deque[tuple[int, Burst]] = deque()
        self.data: list[tuple[int, int]] = []
        self.ends: list[int] = []
        self.answers: dict[int, deque[int]] = {}
        self.offers: dict[str, tuple[int, ...] | None] = {"r": None, "b": None}
        self.expected: dict[str, dict[tuple[int, int], deque[Burst]]] = {"ar": {}, "aw": {}}
        self.ids: dict[str, dict[int, tuple[int, int]]] = {"ar": {}, "aw": {}}
        self.before: dict[str, Any] = {}
        self.beats_read = self.beats_written = 0

    def response(self) -> tuple[dict[str, int], int]:
        values = {f"{name}ready": int(not next(self.stalls[name])) for name in ("ar", "aw", "w")}
        for name, words in (("r", self.reads), ("b", self.answers)):
            waiting = [number for number, queue in words.items() if queue]
            if not self.offers[name] and waiting and not next(self.stalls[name]):
                number = random.choice(waiting)
                word = words[number].popleft()
                self.offers[name] = (number, *(word if isinstance(word, tuple) else (word,)))
            values[f"{name}valid"] = int(self.offers[name] is not None)
        data = random.getrandbits(1024)
        if self.offers["r"]:
            values["rid"], data, values["rresp"], values["rlast"] = self.offers["r"]
        if self.offers["b"]:
            values["bid"], values["bresp"] = self.offers["b"]
        self.values = values
        return values, data

    def asked(self, kind: str, burst: Burst) -> None:
        self.expected[kind].setdefault((burst.manager, burst.id), deque()).append(burst)

    def _burst(self, kind: str, request: dict[str, int], owner: Callable[[int], tuple[int, int]]) -> tuple[int, Burst]:
        number = request[f"{kind}id"]
        manager, own = owner(number)
        assert self.ids[kind].setdefault(number, (manager, own)) == (manager, own)
        burst = self.expected[kind][manager, own].popleft()
        for name, value in burst.address.items():
            assert name == f"{kind}id" or request[name] == value
        return number, burst

    def take(self, request: dict[str, int], data: int, strobes: int, owners: dict[str, Any]) -> None:
        """What comes at this edge; what is offered must stay until it is taken."""
        beside = {"w": (data, strobes)}
        for kind in ("ar", "aw", "w"):
            word = [request[name] for name, _ in REQUEST if name.startswith(kind) and not name.endswith("ready")]
            now = (word, beside.get(kind)) if request[f"{kind}valid"] else None
            assert self.before.get(kind) in (None, now), f"{kind}: an offer changed"
            self.before[kind] = None if self.values[f"{kind}ready"] else now
        if request["arvalid"] and self.values["arready"]:
            number, burst = self._burst("ar", request, owners["ar"])
            last = len(burst.beats) - 1
            words = [(beat, answer & 3, int(at == last)) for at, (beat, answer) in enumerate(burst.beats)]
            self.reads.setdefault(number, deque()).extend(words)
        if request["awvalid"] and self.values["awready"]:
            self.writes.append(self._burst("aw", request, owners["aw"]))
        if request["wvalid"] and self.values["wready"]:
            self.beats_written += 1
            self.data.append((data, strobes))
            self.ends.append(request["wlast"])
        while self.writes and len(self.data) >= len(self.writes[0][1].beats):
            number, burst = self.writes.popleft()
            length = len(burst.beats)
            assert self.data[:length] == burst.beats
            assert self.ends[:length] == [0] * (length - 1) + [1]
            self.data, self.ends = self.data[length:], self.ends[length:]
            self.answers.setdefault(number, deque()).append(burst.response)
        for name in ("r", "b"):
            if self.offers[name] and request[f"{name}ready"]:
                self.beats_read += name == "r"
                self.offers[name] = None


class Bench:
    def __init__(self, dut: Any, manager_stalls: Any, memory_stalls: Any) -> None:
        self.dut = dut
        self.count, self.size = int(dut.MANAGERS.value), len(dut.m_wstrb)
        self.memory = Memory(memory_stalls)
        self.manager_stalls = manager_stalls
        self.granted: dict[str, list[int]] = {"ar": [], "aw": []}
        self.cycle = 0

    async def start(self) -> None:
        dut = self.dut
        await start(dut, "s_req", "m_rsp")
        self.widths = {"ar": int(dut.read_widths.value), "aw": int(dut.write_widths.value)}
        ids = {
            kind: [{NONE: 0, 8: 192}.get(w >> 4 * n & 15, 1 << (w >> 4 * n & 15)) for n in range(self.count)]
            for kind, w in self.widths.items()
        }
        self.managers = [
            Manager(
                number=number,
                read_ids=ids["ar"][number],
                write_ids=ids["aw"][number],
                size=self.size,
                stalls={name: self.manager_stalls() for name in ("ar", "aw", "w", "r", "b")},
            )
            for number in range(self.count)
        ]
        # The widest come first, one after another.
        self.owners: dict[str, list[tuple[int, int]]] = {}
        for kind, widths in ids.items():
            order = sorted(range(self.count), key=lambda number: -widths[number])
            self.owners[kind] = [(number, own) for number in order for own in range(widths[number])]
            assert len(self.owners[kind]) <= 256

    async def run(self, limit: int = 100_000) -> int:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        owners = {kind: table.__getitem__ for kind, table in self.owners.items()}
        begin = self.cycle
        while not all(manager.done for manager in self.managers):
            requests = data = strobes = 0
            for manager in reversed(self.managers):
                values, word, lanes = manager.request()
                requests = requests << REQUEST_W | pack(REQUEST, values)
                data = data << 8 * self.size | word
                strobes = strobes << self.size | lanes
            dut.s_req.value, dut.s_wdata.value, dut.s_wstrb.value = requests, data, strobes
            values, word = self.memory.response()
            dut.m_rsp.value, dut.m_rdata.value = pack(RESPONSE, values), word & ((1 << 8 * self.size) - 1)
            await edge
            self.cycle += 1
            assert self.cycle - begin < limit
            responses = int(dut.s_rsp.value)
            for number, manager in enumerate(self.managers):
                bits = responses >> number * RESPONSE_W
                read, write = manager.take(unpack(RESPONSE, bits), int(dut.s_rdata.value))
                for kind, burst in (("ar", read), ("aw", write)):
                    if burst:
                        self.granted[kind].append(number)
                        copy = Burst(burst.manager, burst.id, burst.address, list(burst.beats), burst.response)
                        self.memory.asked(kind, copy)
            request = unpack(REQUEST, int(dut.m_req.value))
            self.memory.take(request, int(dut.m_wdata.value), int(dut.m_wstrb.value), owners)
        dut.s_req.value, dut.m_rsp.value = 0, 0
        await cycles(dut.clk, 5)
        assert dut.idle.value
        return self.cycle - begin


@behaviour()
@cocotb.parametrize((("stalls", "memory_stalls"), PAIRS))
async def bursts_go_out_whole_and_answers_come_back_to_who_asked(dut: Any, stalls: Any, memory_stalls: Any) -> None:
    bench = Bench(dut, stalls, memory_stalls)
    await bench.start()
    for manager in bench.managers:
        manager.plan(40, 5)
    await bench.run()
    assert all(manager.done for manager in bench.managers)


@behaviour()
async def all_ids_are_used_and_none_by_two(dut: Any) -> None:
    bench = Bench(dut, never, bursts)
    await bench.start()
    for manager in bench.managers:
        manager.plan(4 * max(manager.read_ids, manager.write_ids), 1)
    await bench.run()
    for kind in ("ar", "aw"):
        assert len(bench.memory.ids[kind]) > 0.8 * len(bench.owners[kind])
        assert len(set(bench.memory.ids[kind].values())) == len(bench.memory.ids[kind])


@behaviour()
async def the_longest_bursts(dut: Any) -> None:
    bench = Bench(dut, never, never)
    await bench.start()
    for manager in bench.managers:
        manager.plan(3, 256)
    await bench.run()


@behaviour()
async def an_address_and_a_beat_a_cycle_each_way_and_everyone_in_turn(dut: Any) -> None:
    bench = Bench(dut, never, never)
    await bench.start()
    for manager in bench.managers:
        manager.plan(100, 1)
    count = await bench.run()
    for kind in ("ar", "aw"):
        who = {number for number in range(bench.count) if bench.widths[kind] >> 4 * number & 15 != NONE}
        assert count <= 100 * max(2, bench.count) + 20
        turns = bench.granted[kind]
        assert len(turns) == 100 * len(who)
        for at in range(0, 90 * len(who), len(who)):
            assert set(turns[at : at + len(who)]) == who, Counter(turns[at : at + len(who)])
    writers = 100 * len(set(bench.granted["aw"]))
    readers = 100 * len(set(bench.granted["ar"]))
    assert count <= max(writers, readers) + 20
