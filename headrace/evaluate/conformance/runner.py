"""Runs os-ken's tests on a switch, and says of each that fails why."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from headrace.evaluate.conformance import listing
from headrace.evaluate.conformance.cases import KINDS, Case, Egress, Packet, PacketIn, Rate, TableMiss, Throughput
from headrace.evaluate.conformance.device import PORTS, Device
from headrace.evaluate.conformance.openflow import Connection, Refused, datapath, ofp, parser

MARGIN = 0.10
"""By so much a rate may be off; os-ken's value."""
_CHUNK = 64  # packets of a load at a time: what comes out has to be kept


class Failure(Exception):
    """What the switch does wrong, in one line."""


@dataclass(frozen=True)
class Verdict:
    """Of one test. ``reason``: why it failed, or None."""

    kind: str
    file: str
    description: str
    needs_pbb: bool
    reason: str | None


@dataclass(frozen=True)
class Report:
    """Of all tests that ran on a switch."""

    switch: str
    verdicts: tuple[Verdict, ...]

    @property
    def failures(self) -> list[Verdict]:
        """Those that failed."""
        return [verdict for verdict in self.verdicts if verdict.reason is not None]

    def counts(self) -> dict[str, tuple[int, int]]:
        """How many pass, and of how many: of each kind without those that need PBB; of these; of all."""
        groups = {kind: [v for v in self.verdicts if v.kind == kind and not v.needs_pbb] for kind in KINDS}
        groups |= {"PBB": [v for v in self.verdicts if v.needs_pbb], "all": list(self.verdicts)}
        return {name: (sum(v.reason is None for v in some), len(some)) for name, some in groups.items() if some}

    def to_json(self) -> dict[str, Any]:
        """For ``json.dumps``."""
        counts = {name: {"passed": passed, "of": total} for name, (passed, total) in self.counts().items()}
        return {"switch": self.switch, "tests": counts, "failures": [asdict(verdict) for verdict in self.failures]}

    def __str__(self) -> str:
        counts = [f"{name} {passed} of {total}" for name, (passed, total) in self.counts().items()]
        failures = [f"{v.file}: {v.description}: {v.reason}" for v in self.failures]
        return "\n".join([f"{self.switch} passes {', '.join(counts)}", *failures])


def run(
    device: Device,
    cases: Iterable[Case],
    max_packets: int | None = None,
    done: Callable[[Verdict], None] = lambda _: None,
) -> Report:
    """Runs tests, one after another. ``max_packets``: of a load; a longer one is cut off there.

    Raises HeadraceError where the switch no longer answers.
    """
    verdicts = []
    with Connection(device.connect()) as connection:
        for case in cases:
            try:
                _run(device, connection, case, max_packets)
                reason = None
            except (Failure, Refused) as failure:
                reason = str(failure)
            verdicts.append(Verdict(case.kind, case.file, case.description, case.needs_pbb, reason))
            done(verdicts[-1])
    return Report(device.name, tuple(verdicts))


def _run(device: Device, connection: Connection, case: Case, max_packets: int | None) -> None:
    connection.clear()
    device.enforce()
    device.settle()
    for port in PORTS:
        device.received(port)
    for message in case.messages():
        connection.apply([message])
        if said := listing.wrong(connection, message):
            raise Failure(said)
    device.enforce()
    if isinstance(case.expected, Throughput):
        _check_rates(device, case.ingress, case.expected, max_packets)
        return
    before = _table_counts(connection) if isinstance(case.expected, TableMiss) else {}
    device.send(1, [case.ingress.frame(random.Random(0))])
    device.settle()
    # The answer comes after all packet-ins.
    after = _table_counts(connection)
    _check_one(case.expected, {port: device.received(port) for port in PORTS}, connection.packet_ins, before, after)


def _check_one(
    expected: Egress | PacketIn | TableMiss,
    came_out: dict[int, list[bytes]],
    packet_ins: list[Any],
    before: dict[int, tuple[int, int]],
    after: dict[int, tuple[int, int]],
) -> None:
    """What became of one packet."""
    out = [(f"port {port}", frame) for port, frames in came_out.items() for frame in frames]
    out += [("the controller", bytes(message.data)) for message in packet_ins]
    where = ", ".join(place for place, _ in out) or "nowhere"
    if isinstance(expected, TableMiss):
        if out:
            raise Failure(f"no flow matches, but the packet goes to {where}")
        if missing := set(expected.tables) - set(before):
            raise Failure(f"the switch gives no counts of tables {sorted(missing)}")
        looked_up = [table for table in expected.tables if after[table][0] > before[table][0]]
        if not looked_up:
            raise Failure("no table has counted a lookup")
        if matched := [table for table in looked_up if after[table][1] > before[table][1]]:
            raise Failure(f"no flow matches, but table {matched[0]} has counted a match")
        return
    wanted = "port 2" if isinstance(expected, Egress) else "the controller"
    if [place for place, _ in out] != [wanted]:
        raise Failure(f"the packet goes to {where} instead of {wanted}")
    if packet_ins and packet_ins[0].reason != ofp.OFPR_ACTION:
        raise Failure(
            f"the packet goes to the controller for reason {packet_ins[0].reason} instead of the flow's action"
        )
    frame = expected.packet.frame(random.Random(0))
    if (found := _padded(out[0][1])) != _padded(frame):
        raise Failure(_difference(_padded(frame), found))


def _padded(frame: bytes) -> bytes:
    """As a MAC sends it: with 60 bytes at least. The tests expect it so, and some packets get shorter in the switch."""
    return frame.ljust(60, b"\0")


def _difference(expected: bytes, found: bytes) -> str:
    """Of two frames, in one line: the fields that differ, or where these don't tell, the bytes."""
    wrong = _differing_fields(expected, found) if len(expected) == len(found) else []
    return "the packet has " + ("; ".join(wrong) or f"{found.hex()} instead of {expected.hex()}")


def _differing_fields(expected: bytes, found: bytes) -> list[str]:
    """None where the layers differ."""
    from scapy.contrib.mpls import MPLS  # noqa: F401  (scapy knows the layer once it is imported)
    from scapy.layers.l2 import Ether

    wrong: list[str] = []
    ours: Any = Ether(expected)
    theirs: Any = Ether(found)
    while ours:
        if type(ours) is not type(theirs):
            return []
        wrong += [
            f"{ours.name} {name} {theirs.getfieldval(name)!r} instead of {value!r}"
            for name, value in ours.fields.items()
            if theirs.getfieldval(name) != value
        ]
        ours, theirs = ours.payload, theirs.payload
    return wrong


def _table_counts(connection: Connection) -> dict[int, tuple[int, int]]:
    """Of each table: lookups and matches."""
    entries = connection.statistics(parser.OFPTableStatsRequest(datapath, 0))
    return {entry.table_id: (entry.lookup_count, entry.matched_count) for entry in entries}


def _check_rates(device: Device, packet: Packet, load: Throughput, max_packets: int | None) -> None:
    """Sends a load at its rate and weighs what comes out."""
    count = min(round(load.pktps * load.seconds), max_packets or 1 << 62)
    found = dict.fromkeys(load.rates, (0, 0))
    frames = _frames(packet)
    for start in range(0, count, _CHUNK):
        device.send(1, list(islice(frames, min(_CHUNK, count - start))), 1e9 / load.pktps)
        device.settle()
        for port in PORTS:
            out = device.received(port)
            for rate in load.rates:
                if rate.port == port:
                    counted = [frame for frame in out if _of(rate, frame)]
                    packets, total = found[rate]
                    found[rate] = packets + len(counted), total + sum(map(len, counted))
    seconds = count / load.pktps
    wrong = []
    for rate, (packets, total) in found.items():
        unit = "packets/s" if rate.pktps else "kbit/s"
        measured = packets / seconds if rate.pktps else total * 8 / 1024 / seconds
        wanted = rate.pktps or rate.kbps
        assert wanted
        if abs(measured - wanted) > MARGIN * wanted:
            which = "" if rate.ip_dscp is None else f" with DSCP {rate.ip_dscp}"
            wrong.append(f"port {rate.port} gives {measured:.0f} {unit}{which} instead of {wanted:.0f}")
    if wrong:
        raise Failure("; ".join(wrong))


def _frames(packet: Packet) -> Iterator[bytes]:
    chance = random.Random(0)
    frame = packet.frame(chance)
    while True:
        yield frame
        if packet.varies:
            frame = packet.frame(chance)


def _of(rate: Rate, frame: bytes) -> bool:
    if rate.eth_type is not None and int.from_bytes(frame[12:14], "big") != rate.eth_type:
        return False
    if rate.ip_dscp is None:
        return True
    traffic_class = frame[15] if rate.eth_type == 0x0800 else int.from_bytes(frame[14:16], "big") >> 4 & 0xFF
    return traffic_class >> 2 == rate.ip_dscp
