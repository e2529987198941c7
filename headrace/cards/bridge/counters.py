"""The bridge's counters, and the sums that must hold between them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class PortCounters:
    """An Ethernet port, in frames unless named otherwise; ``held`` in cycles."""

    frames: int
    bytes: int
    bad: int
    disabled: int
    too_long: int
    overflow: int
    unknown: int
    sent: int
    tx_malformed: int
    held: int

    @property
    def accepted(self) -> int:
        """Frames that went on as packets."""
        return self.frames - sum(self.dropped.values())

    @property
    def dropped(self) -> dict[str, int]:
        """Frames that came in and were dropped, by cause."""
        return {cause: getattr(self, cause) for cause in ("bad", "disabled", "too_long", "overflow", "unknown")}


@dataclass(frozen=True)
class ReceiveCounters:
    """Hardware to software, in packets; ``refused`` and ``posts_lost`` in host buffers, ``closed_by`` in batches."""

    packets: int
    bytes: int
    express_packets: int
    no_room: int
    too_long: int
    malformed: int
    disabled: int
    write_errors: int
    refused: int
    posts_lost: int
    closed_by: dict[str, int]

    @property
    def dropped(self) -> dict[str, int]:
        """Packets that came and were not taken into a batch, by cause."""
        return {cause: getattr(self, cause) for cause in ("no_room", "too_long", "malformed", "disabled")}


@dataclass(frozen=True)
class SendCounters:
    """Software to hardware: packets, their bytes; buffers that were wrong, could not be read, or found no place."""

    packets: int
    bytes: int
    malformed: int
    read_errors: int
    posts_lost: int


@dataclass(frozen=True)
class SlotCounters:
    """A functional block's slot, in packets. All but ``sent`` and ``received`` are reasons to drop one."""

    received: int
    overflow: int
    malformed: int
    unknown: int
    refused: int
    sent: int

    @property
    def dropped(self) -> dict[str, int]:
        """Packets dropped, by cause."""
        return {cause: getattr(self, cause) for cause in ("overflow", "malformed", "unknown", "refused")}


@dataclass(frozen=True)
class BridgeCounters:
    """All counters of the bridge, from the card's reset on.

    ``entered``, ``delivered``, ``no_block`` and ``in_flight`` are those of the network on chip. ``taken``: packets that
    software has got; ``lost``: packets of batches that software found broken.
    """

    ports: tuple[PortCounters, ...]
    h2s: ReceiveCounters
    s2h: SendCounters
    slots: tuple[SlotCounters, ...]
    entered: int
    delivered: int
    no_block: int
    in_flight: int
    taken: int
    lost: int = 0

    def balance(self) -> dict[str, int]:
        """What each part has got and neither has passed on nor dropped for a cause: all 0 when the bridge is at rest.

        While it works, these are the packets inside, give or take those that move while the counters are read.
        """
        sources = sum(port.accepted for port in self.ports) + sum(slot.sent for slot in self.slots) + self.s2h.packets
        sinks = sum(port.sent + port.tx_malformed for port in self.ports)
        sinks += sum(slot.received for slot in self.slots) + self.h2s.packets + sum(self.h2s.dropped.values())
        slots = {
            f"slot {number}": slot.received - slot.sent - sum(slot.dropped.values())
            for number, slot in enumerate(self.slots)
        }
        return {
            "into the network on chip": sources - self.entered,
            "network on chip": self.entered - self.delivered - self.no_block,
            "out of the network on chip": self.delivered - sinks,
            "hardware to software": self.h2s.packets - self.h2s.write_errors - self.taken - self.lost,
            **slots,
        }

    def missing(self) -> int:
        """Packets that the sums can't account for: 0 whenever the bridge is at rest, or it is at fault."""
        return sum(abs(value) for value in self.balance().values())

    @property
    def dropped(self) -> dict[str, int]:
        """Packets dropped anywhere, by place and cause; only those that there are."""
        groups = {
            f"port {n} {cause}": count for n, port in enumerate(self.ports) for cause, count in port.dropped.items()
        }
        groups |= {f"port {n} tx malformed": port.tx_malformed for n, port in enumerate(self.ports)}
        groups |= {f"h2s {cause}": count for cause, count in self.h2s.dropped.items()}
        groups |= {"h2s write errors": self.h2s.write_errors, "no block": self.no_block, "h2s broken": self.lost}
        groups |= {
            f"slot {n} {cause}": count for n, slot in enumerate(self.slots) for cause, count in slot.dropped.items()
        }
        return {place.replace("_", " "): count for place, count in groups.items() if count}

    @property
    def complaints(self) -> list[str]:
        """What somebody has done that no correct driver does, in words."""
        lost = {"hardware to software": self.h2s.posts_lost, "software to hardware": self.s2h.posts_lost}
        return [
            f"{count:,} host buffers were posted where the card had no place for them: {way}"
            for way, count in lost.items()
            if count
        ]


CLOSED_BY = ("full", "timeout", "critical", "single", "flush")


def read_counters(registers: Any, slots: int, taken: int, lost: int) -> BridgeCounters:
    """Reads all counters of a bridge with so many slots."""
    h2s, old_and_new = registers.h2s, registers.in_flight.read()
    closed = {name: array.read() for name, array in zip(CLOSED_BY, h2s.closed_by, strict=True)}
    return BridgeCounters(
        ports=tuple(_read(PortCounters, group) for group in registers.port),
        h2s=_read(ReceiveCounters, h2s, closed_by=closed),
        s2h=_read(SendCounters, registers.s2h),
        slots=tuple(_read(SlotCounters, registers.slot[number]) for number in range(slots)),
        entered=registers.entered.read(),
        delivered=registers.delivered.read(),
        no_block=registers.no_block.read(),
        in_flight=(old_and_new & 0xFFFF) + (old_and_new >> 16),
        taken=taken,
        lost=lost,
    )


def _read(kind: Any, group: Any, **known: Any) -> Any:
    names = (entry.name for entry in fields(kind) if entry.name not in known)
    return kind(**{name: group[name].read() for name in names}, **known)
