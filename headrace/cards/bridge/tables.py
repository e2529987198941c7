"""The IDP tables of Ethernet ports and functional blocks, which say where packets go next."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.cards.bridge.formats import Address, Header
from headrace.errors import HeadraceError

BLOCKS = 4  # of a switch
ENTRIES = 8  # of a table
ALL_BITS = 0xFFFF_FFFF

PORTS = (Address(0, 0), Address(0, 1))
SOFTWARE = Address(0, 2)
"""Where packets to software go (H2S)."""


def slot_address(slot: int) -> Address:
    """Where a functional block's slot is."""
    return Address(1 + slot // BLOCKS, slot % BLOCKS)


class Entry(NamedTuple):
    """Packets whose key has the bits of ``key`` wherever ``mask`` is 1 get the ``header``."""

    key: int
    mask: int
    header: Header


class Tables:
    """Writes table entries, each at once, and remembers them: the card's tables can't be read."""

    def __init__(self, registers: Any) -> None:
        self._regs = registers
        self._entries: dict[tuple[Address, int], Entry] = {}

    def entry(self, address: Address, index: int) -> Entry | None:
        """What was written there, or None."""
        return self._entries.get((address, index))

    def free_index(self, address: Address) -> int:
        """The first empty entry of a table. Raises HeadraceError when there is none."""
        for index in range(ENTRIES):
            if (address, index) not in self._entries:
                return index
        where = f"switch {address.switch}, block {address.block}"
        raise HeadraceError(f"all {ENTRIES} entries of the table at {where} are in use")

    def write(self, address: Address, index: int, entry: Entry | None) -> None:
        """Writes one entry, or empties it (None). Raises HeadraceError for what is out of range."""
        if not 0 <= index < ENTRIES:
            raise HeadraceError(f"table entry {index}: must be 0 to {ENTRIES - 1}", 2)
        self._check(entry)
        regs = self._regs
        header = Header(Address(0, 0)) if entry is None else entry.header
        with regs.batch():
            regs.table_key.write(0 if entry is None else entry.key)
            regs.table_mask.write(0 if entry is None else entry.mask)
            regs.table_source.write(header.source)
            regs.table_destination.write(header.destination)
            regs.table_target.set(
                block=header.address.block,
                switch_id=header.address.switch,
                priority_level=header.level,
                egress=int(header.egress),
                critical=int(header.critical),
                valid=int(entry is not None),
            )
            regs.table_write.set(block=address.block, switch_id=address.switch, index=index, write=1)
        if entry is None:
            self._entries.pop((address, index), None)
        else:
            self._entries[address, index] = entry

    def _check(self, entry: Entry | None) -> None:
        if entry is None:
            return
        header = entry.header
        numbers = {"key": entry.key, "mask": entry.mask, "source": header.source, "destination": header.destination}
        for name, number in numbers.items():
            if not 0 <= number <= ALL_BITS:
                raise HeadraceError(f"{name} {number:#x}: must have 32 bits", 2)
        if not 0 <= header.level < 4:
            raise HeadraceError(f"priority level {header.level}: must be 0 to 3", 2)
