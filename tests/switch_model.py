"""A card for the switch's driver: tables, programs and groups as rtl/switch/switch_pkg.sv describes them, one packet
at a time. ``arrive`` takes a packet through the tables, ``finish`` runs its programs: what changes in between must not
harm it. Meters let everything through."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from openflow_packet import MPLS_TYPES, Packet, TtlError
from switch_parser.oracle import expected

from headrace.cards.switch.flows import Count, Meter, MeterCount, PortCount, TableCount
from headrace.cards.switch.layout import ACTION, EFFECT, ENTRY, FLOW_COMMAND, MATCH, NO_TABLE, TICK_NS
from headrace.cards.switch.openflow.oxm import FIELDS
from headrace.cards.switch.registers import Answer, Received, TimedOut

SET_ENTRY, CHANGE_ENTRY, SET_EFFECT, SET_MASK, INSERT, CHANGE, REMOVE, SET, CLEAR, MOVE, EXACT_ADD, ADD = range(12)
MEMBERS = {
    **{
        2: "metadata",
        38: "tunnel_id",
        3: "eth_dst",
        4: "eth_src",
        5: "eth_type",
        6: "vlan_vid",
        7: "vlan_pcp",
        8: "ip_dscp",
    },
    **{9: "ip_ecn", 10: "ip_proto", 11: "src", 22: "src", 26: "src", 12: "dst", 23: "dst", 27: "dst"},
    **{13: "l4_src", 15: "l4_src", 17: "l4_src", 19: "l4_src", 21: "l4_src", 29: "l4_src"},
    **{14: "l4_dst", 16: "l4_dst", 18: "l4_dst", 20: "l4_dst", 30: "l4_dst", 28: "label", 34: "label"},
    **{24: "link", 32: "link", 33: "link", 25: "target", 31: "target", 35: "ip_dscp", 36: "ip_ecn"},
}
LOWER = ("ip_dscp", "ip_ecn", "ip_proto", "src", "dst", "l4", "l4_src", "l4_dst", "nd", "label", "target", "link")


@dataclass
class Table:
    """One flow table."""

    mask: int = 0
    exact: dict[int, tuple[int, int]] = field(default_factory=dict)  # number, rank
    ternary: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)  # value, mask, number, rank
    entries: dict[int, dict[str, int]] = field(default_factory=dict)
    counts: dict[int, list[int]] = field(default_factory=dict)
    effects: dict[int, dict[str, int]] = field(default_factory=dict)
    looked_up: int = 0
    matched: int = 0

    def find(self, key: int) -> int | None:
        """The number of the entry that a packet hits."""
        found = []
        if (key & self.mask) in self.exact:
            number, rank = self.exact[key & self.mask]
            found.append((rank, 1, number))
        for _, (value, mask, number, rank) in sorted(self.ternary.items()):
            if key & mask == value:
                found.append((rank, 0, number))
                break
        return max(found)[2] if found else None


@dataclass
class Job:
    """A packet between tables and programs; ``groups``: where their programs began when it came."""

    data: bytes
    in_port: int
    metadata: int
    tunnel_id: int
    programs: list[int]
    groups: dict[int, int]


class ModelCard:
    """A ``SwitchHardware``. ``full``: how often the exact part refuses a key for which it would have room."""

    def __init__(
        self, ports: int = 4, tables: int = 4, exact: int = 64, ternary: int = 16, words: int = 4096, full: float = 0
    ) -> None:
        self.ports, self.tables, self.exact, self.ternary = ports, tables, exact, ternary
        self.effects, self.program_words, self.groups, self.counters = 256, words, 16, 64
        self.meters, self.bands = 8, 2
        self.fields = frozenset(FIELDS)
        self.custom = 3
        self.full = full
        self.table = [Table() for _ in range(tables)]
        self.memory: dict[int, dict[str, int]] = {}
        self.group: dict[int, int] = {}
        self.meter: dict[int, Meter] = {}
        self.counted: dict[int, list[int]] = {}
        self.jobs: deque[Job] = deque()
        self.sent: list[tuple[int, bytes, int]] = []  # with custom actions
        self.for_host: deque[Received] = deque()
        self.timed_out: deque[TimedOut] = deque()
        self.live = (1 << ports) - 1
        self.commands = self.last_command = 0
        self.in_count = self.out_count = self.seen_out = 0xFFFF_FFF0  # they wrap soon
        self.time_ns = 10**9

    # ------------------------------------------------------------------------------------------------ as hardware

    def command(self, table: int, **members: int) -> int:
        """See ``SwitchHardware``, here and below."""
        self.commands += 1
        self.last_command = FLOW_COMMAND.replace(self.last_command, **members)  # the others are what they were
        done = FLOW_COMMAND.unpack(self.last_command)
        return self._command(self.table[table], done["op"], done)

    def _command(self, table: Table, op: int, done: dict[str, int]) -> Answer:
        number, value = done["number"], done["value"]
        if op in (EXACT_ADD, ADD):
            self._command(table, SET_ENTRY, done)
            return self._command(table, INSERT if op == EXACT_ADD else SET, done)
        if op in (SET_ENTRY, CHANGE_ENTRY):
            assert number < self.exact + self.ternary
            table.entries[number] = ENTRY.unpack(done["entry"])
            if op == SET_ENTRY:
                table.counts[number] = [0, 0, self.time_ns]
        elif op == SET_EFFECT:
            assert 0 < done["index"] < self.effects
            table.effects[done["index"]] = EFFECT.unpack(done["effect"])
        elif op == SET_MASK:
            assert not table.exact
            table.mask = done["mask"]
        elif op == INSERT:
            assert value & table.mask == value
            if value in table.exact:
                return Answer.EXISTS
            if len(table.exact) == self.exact or random.random() < self.full:
                return Answer.FULL
            table.exact[value] = number, done["rank"]
        elif op in (CHANGE, REMOVE):
            if value not in table.exact:
                return Answer.NOT_FOUND
            if op == CHANGE:
                table.exact[value] = number, done["rank"]
            else:
                del table.exact[value]
        if op in (CLEAR, MOVE):
            del table.ternary[done["clear_index"]]
        if op in (SET, MOVE):
            assert done["index"] < self.ternary and done["index"] not in table.ternary
            table.ternary[done["index"]] = value, done["mask"], number, done["rank"]
            ranks = [rank for _, (_, _, _, rank) in sorted(table.ternary.items())]
            assert ranks == sorted(ranks, reverse=True)
        return Answer.DONE

    def write_program(self, address: int, words: Sequence[int]) -> None:
        assert address
        for place, word in enumerate(words, address):
            assert place < self.program_words
            self.memory[place] = ACTION.unpack(word)

    def write_group(self, number: int, program: int) -> None:
        assert number < self.groups
        self.group[number] = program

    def write_meter(self, number: int, meter: Meter | None) -> None:
        self.meter.pop(number, None)
        if meter:
            self.meter[number] = meter

    def count_entry(self, table: int, number: int) -> Count:
        return Count(*self.table[table].counts[number])

    def count(self, number: int) -> Count:
        return Count(*self.counted.get(number, (0, 0)))

    def clear_count(self, number: int) -> None:
        self.counted.pop(number, None)

    def count_meter(self, number: int) -> MeterCount:
        assert number in self.meter
        return MeterCount(Count(0, 0), (Count(0, 0),) * self.bands)  # of all that it can have, as the card says it

    def count_port(self, number: int) -> PortCount:
        raise NotImplementedError

    def count_table(self, number: int) -> TableCount:
        return TableCount(self.table[number].looked_up, self.table[number].matched)

    def set_ports(self, enabled: int, receiving: int, live: int, quiet: int) -> None:
        self.enabled, self.receiving, self.live, self.quiet = enabled, receiving, live, quiet

    def send(self, data: bytes, in_port: int, table: int, program: int) -> None:
        self.arrive(data, in_port, table, program)

    def received(self) -> Iterator[Received]:
        while self.for_host:
            yield self.for_host.popleft()

    def expired(self) -> Iterator[TimedOut]:
        while self.timed_out:
            yield self.timed_out.popleft()

    def entered(self) -> int:
        return self.in_count

    def left(self) -> int:
        """Who waits for packets to leave lets them. It does not go on before the host has taken its packets."""
        if self.jobs:
            self.finish()
        if not self.for_host:
            self.seen_out = self.out_count
        return self.seen_out

    def now_ns(self) -> int:
        return self.time_ns

    def pass_time(self, nanoseconds: int) -> None:
        """Time goes by; entries whose timeouts come are told, once."""
        self.time_ns += nanoseconds
        for table_number, table in enumerate(self.table):
            for number, entry in table.entries.items():
                now, used = self.time_ns // TICK_NS, table.counts[number][2] // TICK_NS
                hard = 0 < entry["hard_at"] <= now
                if hard or 0 < entry["idle"] <= now - used:
                    self.timed_out.append(TimedOut(table_number, number, hard))
                    entry |= {"idle": 0, "hard_at": 0}

    # ----------------------------------------------------------------------------------------------- its tables

    def run(self, data: bytes, in_port: int) -> None:
        """A packet, all the way."""
        self.arrive(data, in_port)
        self.finish_all()

    def finish_all(self) -> None:
        """What is inside, all the way."""
        while self.jobs:
            self.finish()

    def arrive(
        self, data: bytes, in_port: int, table: int = 0, program: int = 0, metadata: int = 0, tunnel_id: int = 0
    ) -> None:
        """Takes a packet through the tables."""
        self.in_count = self.in_count + 1 & 0xFFFF_FFFF
        self.jobs.append(self._job(data, in_port, table, program, metadata, tunnel_id))

    def _job(self, data: bytes, in_port: int, number: int, program: int, metadata: int, tunnel_id: int) -> Job:
        fields = {name: value for name, value in expected(data, in_port).items() if name in MATCH.members}
        fields |= {"metadata": metadata, "tunnel_id": tunnel_id}
        tags = [tci for _, tci in Packet.read(data).tags]
        programs = [program] if program else []
        while number != NO_TABLE:
            table = self.table[number]
            table.looked_up += 1
            found = table.find(MATCH.pack(**fields))
            if found is None:
                break
            table.matched += 1
            entry = table.entries[found]
            packets, size, _ = table.counts[found]
            table.counts[found] = [packets + 1, size + len(data), self.time_ns]
            programs += [entry["program_at"]] if entry["program_at"] else []
            fields["metadata"] = fields["metadata"] & ~entry["metadata_mask"] | entry["metadata"]
            at = entry["effect"]
            while at:
                effect = table.effects[at]
                _affect(fields, tags, effect)
                at = 0 if effect["last"] else at + 1
            assert entry["next"] > number
            number = entry["next"]
        return Job(data, in_port, fields["metadata"], tunnel_id, programs, dict(self.group))

    # --------------------------------------------------------------------------------------------- its programs

    def finish(self) -> None:
        """Runs the programs of the packet that came first."""
        job = self.jobs.popleft()
        _Execution(self, job).run()
        self.out_count = self.out_count + 1 & 0xFFFF_FFFF


def _affect(fields: dict[str, int], tags: list[int], effect: dict[str, int]) -> None:
    match effect["op"]:
        case 0:
            member = MEMBERS[effect["field"]]
            fields[member] = effect["value"] & MATCH.ones(member)
            if tags:
                tags[0] = fields["vlan_vid"] | fields["vlan_pcp"] << 13
            return
        case 1:
            tags.insert(0, tags[0] if tags else 0)
        case 2:
            del tags[:1]
        case 3:
            label = {name: fields[name] for name in ("label", "ip_dscp")} if fields["eth_type"] in MPLS_TYPES else {}
            fields |= dict.fromkeys(LOWER, 0) | {"exthdr": 0, "l3": 1, "eth_type": effect["value"]} | label
            fields["ip_ecn"] = int(not label)
    first = tags[0] if tags else 0
    fields |= {"vlan": int(bool(tags)), "vlan_vid": first & 0xFFF, "vlan_pcp": first >> 13}


class _Execution:
    def __init__(self, card: ModelCard, job: Job) -> None:
        self.card, self.job = card, job
        self.packet = self.saved = replace(Packet.read(job.data), tunnel_id=job.tunnel_id)
        self.custom = 0
        self.kept: dict[tuple[int, int], tuple[dict[str, int], int]] = {}
        self.origin = 0

    def run(self) -> None:
        try:
            for program in self.job.programs:
                self.origin = program
                self.program(program)
            group = any(op == 14 for op, _ in self.kept)
            order = (11, 3, 5, 4, 2, 10, 7, 9, 6, 8, 1, 24, 14, 12)
            for word, origin in sorted(self.kept.values(), key=lambda kept: order.index(_place(kept[0])[0])):
                self.origin = origin
                if not group or _place(word)[0] != 12:
                    self.step(word)
        except TtlError:
            self.to_host(0xFFFF, 2)

    def program(self, at: int) -> None:
        for _ in range(1000):
            word = self.card.memory[at]
            if word["keep"]:
                assert not word["out"]
                self.kept.pop(_place(word), None)
                self.kept[_place(word)] = word, self.origin
                following: int | None = None
            else:
                following = self.step(word, at)
            if following is None and word["last"]:
                return
            at = at + 1 if following is None else following
        raise AssertionError("a program without end")

    def step(self, word: dict[str, int], at: int = 0) -> int | None:
        """Where it goes on, None: behind the word."""
        card, value = self.card, word["value"]
        following = None
        match word["op"]:
            case 0:
                pass
            case 1:
                self.packet = self.packet.set_field(word["field"], value)
            case 2:
                self.packet = self.packet.push_vlan(value)
            case 3:
                self.packet = self.packet.pop_vlan()
            case 4:
                self.packet = self.packet.push_mpls(value)
            case 5:
                self.packet = self.packet.pop_mpls(value)
            case 6:
                self.packet = self.packet.set_nw_ttl(value)
            case 7:
                self.packet = self.packet.dec_nw_ttl()
            case 8:
                self.packet = self.packet.set_mpls_ttl(value)
            case 9:
                self.packet = self.packet.dec_mpls_ttl()
            case 10:
                self.packet = self.packet.copy_ttl_out()
            case 11:
                self.packet = self.packet.copy_ttl_in()
            case 12:
                for port in range(1, card.ports + 1):
                    if value >> port - 1 & 1 and port != self.job.in_port:
                        self.output(port)
                if value >> 64:
                    self.output(self.job.in_port)
            case 13:
                self.to_host(value & 0xFFFF, value >> 16)
            case 14:
                self.program(self.job.groups[value])
            case 15:
                self.saved, self.saved_custom = self.packet, self.custom
            case 16:
                self.packet, self.custom = self.saved, self.saved_custom
            case 17:
                following = value
            case 18:
                following = at + 1 + self.hash() % value
            case 19:
                if not card.live >> (value >> 16) - 1 & 1:
                    following = value & 0xFFFF
            case 20:
                assert value in card.meter
            case 21:
                assert value < card.counters
                packets, size = card.counted.get(value, (0, 0))
                card.counted[value] = [packets + 1, size + len(self.job.data)]
            case 22:
                self.kept.clear()
            case 23:
                kept = self.job.metadata, self.packet.tunnel_id
                card.arrive(bytes(self.packet), self.job.in_port, value & 15, value >> 16, *kept)
            case 24:
                self.custom |= value
            case op:
                raise AssertionError(f"no op {op}")
        if word["out"] and word["port"] + 1 != self.job.in_port:
            self.output(word["port"] + 1)
        return following

    def hash(self) -> int:
        return self.job.in_port

    def output(self, port: int) -> None:
        assert 1 <= port <= self.card.ports
        self.card.sent.append((port, bytes(self.packet), self.custom))

    def to_host(self, size: int, reason: int) -> None:
        data, job = bytes(self.packet), self.job
        kept = job.in_port, job.metadata, self.packet.tunnel_id
        self.card.for_host.append(Received(data[:size], len(data), reason, *kept, self.origin))


def _place(word: dict[str, int]) -> tuple[int, int]:
    """In an action set."""
    return 12 if word["op"] == 13 else word["op"], word["field"] if word["op"] == 1 else 0
