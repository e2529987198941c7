"""Opens a switch card, and drives it: its operations, counters and ports, and the packets of the host."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.card import Card
from headrace.card.rings import Receiver, Ring
from headrace.cards.switch.fields import NARROW_FIELDS
from headrace.cards.switch.flows import Count, Meter, MeterCount, PortCount, TableCount
from headrace.cards.switch.layout import (
    ACTION_BITS,
    BAND,
    FLOW_COMMAND,
    FLOW_COUNT,
    METER,
    TICK_NS,
    BandKind,
)
from headrace.cards.switch.openflow.actions import CUSTOM_ACTIONS
from headrace.cards.switch.openflow.oxm import FIELDS
from headrace.cards.switch.registers import Received, TimedOut
from headrace.errors import HeadraceError

HEAD = 64  # bytes before each packet of the host's
BUFFER = 1 << 16

_MAGIC = 0x5357
_ENTRIES = 256
_HEAD_OUT, _HEAD_IN = struct.Struct("<HHIQ"), struct.Struct("<BBHIQQ")
_FLOW_WORDS, _METER_WORDS, _ACTION_WORDS = -(-FLOW_COMMAND.width // 32), -(-METER.width // 32), ACTION_BITS // 32
_FLOW, _GROUP, _METER, _CLEAR, _COUNT = (1 << bit for bit in range(5))
_ENTRY, _ACTION, _METER_COUNT, _PORT, _TABLE = range(5)  # count_kind_e
_POLL_CYCLES = 32
_TURNS = 10_000
_MODULO = 1 << 32
_ONE = 1 << 30  # of coefficients


def open_switch_card(**options: Any) -> Card:
    """A switch card; ``options`` are ``Card.open``'s."""
    return Card.open("switch", **options)


class CardHardware:
    """The switch of an open card, as ``HardwareDatapath`` drives it."""

    def __init__(self, card: Card) -> None:
        """Raises HeadraceError when the card is none."""
        self.card = card
        regs = self._regs = card.regs.engine
        if regs.card.magic != _MAGIC:
            raise HeadraceError("this is not a switch card")
        self.ports: int = regs.sizes.ports
        self.tables: int = regs.sizes.tables
        self.bands: int = regs.sizes.bands
        self.fields = NARROW_FIELDS if regs.sizes.narrow else frozenset(FIELDS)
        self.custom: int = CUSTOM_ACTIONS if regs.sizes.custom else 0
        self.exact: int = regs.exact_entries.read()
        self.ternary: int = regs.ternary_entries.read()
        self.effects: int = regs.effects.read()
        self.program_words: int = regs.program_words.read()
        self.groups: int = regs.groups.read()
        self.counters: int = regs.counters.read()
        self.meters: int = regs.meters.read()
        self._flow_at: int = regs.flow.word[0].address
        self._start_at: int = regs.operation.start.address
        self._answer_at: int = regs.operation.answer.address
        self._counted_at: int = regs.operation.counted[0].address
        self._flow_word = 0  # as it was written last
        card.write_many([(self._flow_at + 4 * i, 0) for i in range(_FLOW_WORDS)])
        self._receiver = Receiver(card, card.regs.rings.receive, entries=_ENTRIES, buffer=BUFFER)
        self._ring = Ring(card, card.regs.rings.transmit, entries=_ENTRIES)
        self._buffers = card.memory.allocate(_ENTRIES * BUFFER)
        self.received_packets = 0  # from the card, since the beginning
        self._left = 0

    # ------------------------------------------------------------------------------------------------ operations

    def _operate(self, what: int, writes: list[tuple[int, int]], table: int = 0, kind: int = 0, item: int = 0) -> int:
        """Carries out an operation, and gives its answer: the card lets the host wait for it."""
        self.card.write_many([*writes, (self._start_at, what | table << 8 | kind << 12 | item << 16)])
        return self.card.read(self._answer_at)

    def command(self, table: int, **members: int) -> int:
        """Changes a flow table by these members of a ``FLOW_COMMAND``, and gives its ``table_answer_t``. Only words
        that others have changed are written."""
        word = FLOW_COMMAND.replace(self._flow_word, **members)
        old, new = (_words(each, _FLOW_WORDS) for each in (self._flow_word, word))
        self._flow_word = word
        return self._operate(
            _FLOW, [(self._flow_at + 4 * i, new[i]) for i in range(_FLOW_WORDS) if new[i] != old[i]], table
        )

    def write_program(self, address: int, words: Sequence[int]) -> None:
        """Writes words of actions, ``ACTION_BITS`` each, from an address on."""
        actions = self._regs.actions
        at, last = actions.word[0].address, actions.last_word.address
        writes = [(actions.place.address, address)]
        for word in words:
            parts = _words(word, _ACTION_WORDS)
            writes += [(at + 4 * i, part) for i, part in enumerate(parts[:-1])]
            writes.append((last, parts[-1]))
        self.card.write_many(writes)

    def write_group(self, number: int, program: int) -> None:
        """Sets the program of a group's number in hardware; 0: there is no group."""
        self._operate(_GROUP, [(self._regs.actions.place.address, program)], item=number)

    def write_meter(self, number: int, meter: Meter | None) -> None:
        """Sets a meter's number in hardware; None: there is none."""
        word = 0 if meter is None else _meter_word(meter)
        at = self._regs.meter.word[0].address
        self._operate(_METER, [(at + 4 * i, part) for i, part in enumerate(_words(word, _METER_WORDS))], item=number)

    # -------------------------------------------------------------------------------------------------- counters

    def _count(self, words: int, kind: int, item: int, table: int = 0) -> int:
        self._operate(_COUNT, [], table, kind, item)
        return sum(self.card.read(self._counted_at + 4 * i) << 32 * i for i in range(words))

    def count_entry(self, table: int, number: int) -> Count:
        """Of an entry."""
        count = FLOW_COUNT.unpack(self._count(6, _ENTRY, number, table))
        now = self.now_ns() // TICK_NS  # the card keeps the lower bits
        used = now - (now - count["used"]) % (1 << FLOW_COUNT.width_of("used"))
        return Count(count["packets"], count["bytes"], used * TICK_NS)

    def count(self, number: int) -> Count:
        """Of a counter that programs count on."""
        both = self._count(4, _ACTION, number)
        return Count(*_halves(both))

    def clear_count(self, number: int) -> None:
        """Sets a counter that programs count on to 0."""
        self._operate(_CLEAR, [], item=number)

    def count_meter(self, number: int) -> MeterCount:
        """Of a meter's number in hardware."""
        counted = self._count(4 + 4 * self.bands, _METER_COUNT, number)
        counts = [Count(*_halves(counted >> 128 * i)) for i in range(1 + self.bands)]
        return MeterCount(counts[0], tuple(counts[1:]))

    def count_port(self, number: int) -> PortCount:
        """Of a port."""
        return PortCount(*[self._count(2, _PORT, 8 * (number - 1) + i) for i in range(len(PortCount._fields))])

    def count_table(self, number: int) -> TableCount:
        """Of a table."""
        return TableCount(*_halves(self._count(4, _TABLE, 0, number)))

    # ----------------------------------------------------------------------------------------------------- ports

    def set_ports(self, enabled: int, receiving: int, live: int, quiet: int) -> None:
        """Which ports send, receive, are live, and have no packet-ins: a bit each, port 1 in the lowest."""
        ports = self._regs.ports
        for group, bits in (
            (ports.enabled, enabled),
            (ports.receiving, receiving),
            (ports.live, live),
            (ports.quiet, quiet),
        ):
            _write_bits(group, bits)

    def set_filter(self, taps: Sequence[float], carry: bool) -> None:
        """Sets the FIR filter's coefficients, that of the newest sample first; ``carry``: a packet's first samples
        follow the last ones of the packet before. Raises HeadraceError for coefficients that it can't have, and where
        there is no filter."""
        if not self.custom:
            raise HeadraceError("the card has no FIR filter: it was built with CUSTOM=0", 2)
        filter_ = self._regs.fir
        if len(taps) != len(filter_.coefficient):
            raise HeadraceError(f"the filter has {len(filter_.coefficient)} coefficients, not {len(taps)}", 2)
        numbers = [round(tap * _ONE) for tap in taps]
        for tap, number in zip(taps, numbers, strict=True):
            if not -2 * _ONE <= number < 2 * _ONE:
                raise HeadraceError(f"coefficient {tap:g}: must be from -2 to just below 2", 2)
        for register, number in zip(filter_.coefficient, numbers, strict=True):
            register.write(number % _MODULO)
        filter_.control.carry = carry

    def hold(self, ports: int) -> None:
        """Which ports hold their link off while there is no room, instead of dropping packets: a bit each."""
        _write_bits(self._regs.ports.hold, ports)

    # --------------------------------------------------------------------------------------------------- packets

    def send(self, data: bytes, in_port: int, table: int, program: int) -> None:
        """Sends a packet: its bytes go to a program (0: none), then to a table (NO_TABLE: none)."""
        for _ in range(_TURNS):
            self._ring.seen += self._ring.fresh()
            if self._ring.room:
                break
            self.card.run(until=None, cycles=_POLL_CYCLES)
        else:
            raise HeadraceError("the switch takes no packets from the host")
        address = self._buffers + self._ring.posted % self._ring.entries * BUFFER
        head = _HEAD_OUT.pack(in_port | table << 8, program, 0, 0)
        self.card.memory.write(address, head.ljust(HEAD, b"\0") + data)
        self._ring.post([address], [HEAD + len(data)])

    def received(self) -> Iterator[Received]:
        """Packets for the host that have come since it was last asked."""
        if not self._receiver.ring.ready:
            return
        packets = self._receiver.take()
        for place, size in zip(packets.address, packets.length, strict=True):
            data = self.card.memory.read(place, size)
            in_port, reason, origin, total, metadata, tunnel_id = _HEAD_IN.unpack_from(data)
            self.received_packets += 1
            yield Received(data[HEAD:], total, reason, in_port, metadata, tunnel_id, origin)
        self._receiver.release()

    def host_dropped(self) -> int:
        """Packets for the host that found no room."""
        return int(self._regs.host_dropped.read())

    def expired(self) -> Iterator[TimedOut]:
        """Entries that have expired since it was last asked."""
        first = self._regs.expired.first
        while (word := self.card.read(first.address)) & 1:
            self._regs.expired.advance.start = 1
            yield TimedOut(word >> 4 & 15, word >> 16, bool(word & 2))

    # -------------------------------------------------------------------------------------------------- progress

    def entered(self) -> int:
        """Packets that have come in and may hold the address of a program, modulo 2^32; those of the host, too."""
        waiting = self._ring.posted - self._regs.from_host.read()
        return int((self._regs.entered.read() + waiting) % _MODULO)

    def left(self) -> int:
        """Of these, those whose programs have run, and whose copies for the host have been received."""
        finished, copies = self._regs.finished.read(), self._regs.to_host.read()
        if (copies - self.received_packets - self.host_dropped()) % _MODULO == 0:
            self._left = int(finished)
        return self._left

    def now_ns(self) -> int:
        """The card's time."""
        return self.card.stats().time_ns


def _words(word: int, count: int) -> tuple[int, ...]:
    """Words of 32 bits, the lowest first."""
    return struct.unpack(f"<{count}I", word.to_bytes(4 * count, "little"))


def _write_bits(group: Any, bits: int) -> None:
    for i, register in enumerate(group):
        register.write(bits >> 32 * i & 0xFFFF_FFFF)


def _halves(both: int) -> tuple[int, int]:
    return both & (1 << 64) - 1, both >> 64 & (1 << 64) - 1


def _meter_word(meter: Meter) -> int:
    bands = 0
    for i, band in enumerate(meter.bands):
        kind = BandKind.DROP if band.raise_by is None else BandKind.DSCP_REMARK
        bands |= BAND.pack(kind=kind, rate=band.rate, burst=band.burst, raise_=band.raise_by or 0) << i * BAND.width
    return METER.pack(on=1, packets=meter.packets, band=bands)
