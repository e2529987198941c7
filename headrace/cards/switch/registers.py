"""What the switch's driver asks of a card, be it a virtual one or a board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from headrace.cards.switch.flows import Count, Meter, MeterCount, PortCount, TableCount


class Answer(IntEnum):
    """``table_answer_t``: to an operation on a flow table."""

    DONE = 0
    EXISTS = 1
    NOT_FOUND = 2
    FULL = 3


class Received(NamedTuple):
    """A packet for the host. ``total``: its bytes, ``data``: those that were asked for; ``origin``: address of the
    program that sent it."""

    data: bytes
    total: int
    reason: int
    in_port: int
    metadata: int
    tunnel_id: int
    origin: int


class TimedOut(NamedTuple):
    """An entry whose time has come: its table and number; ``hard``: by its hard timeout."""

    table: int
    number: int
    hard: bool


class SwitchHardware(Protocol):
    """A card. Its writes are done when they come back. A resubmitted copy keeps its packet's in_port, metadata and
    tunnel_id."""

    ports: int
    tables: int
    exact: int  # entries, of each table
    ternary: int
    effects: int  # addresses, of each table; 0 is none
    program_words: int  # 0 is none
    groups: int
    counters: int
    meters: int
    bands: int  # of a meter
    fields: frozenset[int]  # that the tables compare, by the numbers of OXM
    custom: int  # the custom actions that it has, a bit each

    def command(self, table: int, **members: int) -> int:
        """Does what these members of ``layout.FLOW_COMMAND`` say, to the table; gives its ``Answer``."""

    def write_program(self, address: int, words: Sequence[int]) -> None:
        """Words of ``layout.ACTION``."""

    def write_group(self, number: int, program: int) -> None:
        """In one write: a packet runs the old program or the new one."""

    def write_meter(self, number: int, meter: Meter | None) -> None:
        """Its counts begin at 0. None: it lets everything through."""

    def count_entry(self, table: int, number: int) -> Count:
        """Of an entry, since FLOW_SET_ENTRY."""

    def count(self, number: int) -> Count:
        """Of a counter that ACT_COUNT counts on."""

    def clear_count(self, number: int) -> None:
        """Makes such a counter 0."""

    def count_meter(self, number: int) -> MeterCount:
        """Since it was written."""

    def count_port(self, number: int) -> PortCount:
        """Of port 1 and up."""

    def count_table(self, number: int) -> TableCount:
        """Since the beginning."""

    def set_ports(self, enabled: int, receiving: int, live: int, quiet: int) -> None:
        """Bit n-1 for port n: it sends, it receives, it is live, its packets don't go to the host."""

    def send(self, data: bytes, in_port: int, table: int, program: int) -> None:
        """A packet from the host: it starts with a program (0: none), then goes to a table (NO_TABLE: to none). It has
        been counted by ``entered`` when this comes back."""

    def received(self) -> Iterator[Received]:
        """Packets for the host that have come since it was last asked."""

    def expired(self) -> Iterator[TimedOut]:
        """Entries that have expired since it was last asked."""

    def entered(self) -> int:
        """Packets that have come in so far, modulo 2^32."""

    def left(self) -> int:
        """When it has come to what ``entered`` was (modulo 2^32), all packets that were inside then are gone, and with
        them their resubmitted copies; what they and the tables had to say is in ``received`` and ``expired``. It may
        wait for the host to take that."""

    def now_ns(self) -> int:
        """The card's time."""
